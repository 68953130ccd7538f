#include "tests/lab/support.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <tuple>

#include "harness/process/netns.h"
#include "harness/process/program.h"

namespace pathproof::lab {

std::string shell(const std::string& netns, const std::string& command) {
    const auto ran = process::run_checked({"sh", "-c", command}, {.netns = netns});
    BOOST_REQUIRE_MESSAGE(ran, (ran ? "" : ran.error().message));
    return *ran;
}

int shell_status(const std::string& netns, const std::string& command) {
    const auto ran = process::run_program({"sh", "-c", command}, {.netns = netns});
    BOOST_REQUIRE_MESSAGE(ran, (ran ? "" : ran.error().message));
    return ran->exit_status;
}

std::string difference(const std::string& before, const std::string& now) {
    std::string different;
    for (const auto& [one, other, mark] :
         {std::tuple(&before, &now, "- "), std::tuple(&now, &before, "+ ")}) {
        std::istringstream lines(*one);
        for (std::string line; std::getline(lines, line);) {
            if (!contains("\n" + *other, "\n" + line + "\n")) {
                different += mark + line + "\n";
            }
        }
    }
    return different;
}

std::string variable(const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : otherwise;
}

std::string binary_path() {
    const std::string path = variable("PATHPROOF", "");
    BOOST_REQUIRE_MESSAGE(!path.empty(), "PATHPROOF must name the binary; meson test sets it");
    return path;
}

std::vector<std::string> netns_names() {
    std::vector<std::string> names;
    std::error_code nothing;
    for (const auto& entry : std::filesystem::directory_iterator("/run/netns", nothing)) {
        names.push_back(entry.path().filename().string());
    }
    return names;
}

void wait_for_agents() {
    for (int tenths = 0; tenths < 100; ++tenths) {
        const auto runs = list_runs();
        if (!runs || std::ranges::count(*runs, RunInfo::State::kLive, &RunInfo::state) == 0) {
            return;
        }
        usleep(100'000);
    }
    BOOST_FAIL("after 10 s a run is still alive");
}

void check_nothing_left() {
    BOOST_TEST(netns_names().empty());
    BOOST_TEST(!std::filesystem::exists("/run/netns"));
    BOOST_TEST(!std::filesystem::exists("/run/pathproof"));
}

Forked::Forked(const std::function<void(const Say&)>& work) {
    std::array<int, 2> ends{-1, -1};
    BOOST_REQUIRE(pipe(ends.data()) == 0);
    // A run must not be deaf to signals that the tests ignore, of their own or since their start
    // (nohup, a shell's background). A signal that is sent before the run is up waits.
    sigset_t held;
    sigset_t before;
    sigemptyset(&held);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
        sigaddset(&held, number);
    }
    sigprocmask(SIG_BLOCK, &held, &before);
    pid_ = fork();
    if (pid_ == 0) {
        for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
            std::signal(number, SIG_DFL);
        }
    }
    sigprocmask(SIG_SETMASK, &before, nullptr);
    BOOST_REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
        close(ends[0]);
        work([&](const std::string& text) {
            const std::string line = text + "\n";
            if (write(ends[1], line.data(), line.size()) < 0) {
                _exit(99);
            }
        });
        _exit(0);
    }
    close(ends[1]);
    ear_ = ends[0];
}

Forked::~Forked() {
    if (pid_ > 0) {
        kill(pid_, SIGKILL);
        wait();
    }
    close(ear_);
}

std::string Forked::hear() {
    std::string line;
    char letter = 0;
    while (read(ear_, &letter, 1) == 1 && letter != '\n') {
        line += letter;
    }
    return line;
}

void Forked::signal(int number) {
    BOOST_REQUIRE(kill(pid_, number) == 0);
}

int Forked::wait() {
    int state = 0;
    pid_t ended = 0;
    for (int waited_ms = 0; waited_ms < 10'000 && ended == 0; waited_ms += 5) {
        ended = waitpid(pid_, &state, WNOHANG);
        usleep(ended == 0 ? 5000 : 0);
    }
    if (ended == 0) {
        BOOST_ERROR("process " << pid_ << " did not end within 10 s");
        kill(pid_, SIGKILL);
        ended = waitpid(pid_, &state, 0);
    }
    BOOST_REQUIRE(ended == pid_);
    pid_ = -1;
    return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

Started::Started(const std::string& words, const std::string& folder, const std::string& netns)
    : Forked([command = "exec " + (netns.empty() ? "" : "ip netns exec " + netns + " ") +
                        binary_path() + " " + words,
              &folder](const Say&) {
          const int file = open((folder + "/said").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
          dup2(file, STDOUT_FILENO);
          dup2(file, STDERR_FILENO);
          if (chdir(folder.c_str()) == 0) {
              execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
          }
          _exit(99);
      }) {}

RawPort::RawPort(const std::string& netns, const std::string& device) {
    const Status opened = process::in_netns(netns, [&]() -> Status {
        socket_ = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
        sockaddr_ll where{};
        where.sll_family = AF_PACKET;
        where.sll_protocol = htons(ETH_P_ALL);
        where.sll_ifindex = static_cast<int>(if_nametoindex(device.c_str()));
        if (bind(socket_, reinterpret_cast<sockaddr*>(&where), sizeof where) != 0) {
            return fail(ErrorCode::kFailed, "bind to {}", device);
        }
        return {};
    });
    BOOST_REQUIRE(opened);
}

RawPort::~RawPort() {
    close(socket_);
}

void RawPort::send(std::span<const std::uint8_t> frame) {
    BOOST_REQUIRE(::send(socket_, frame.data(), frame.size(), 0) ==
                  static_cast<ssize_t>(frame.size()));
}

std::vector<std::vector<std::uint8_t>> RawPort::receive(int quiet_ms) {
    std::vector<std::vector<std::uint8_t>> frames;
    pollfd end{socket_, POLLIN, 0};
    while (poll(&end, 1, quiet_ms) > 0) {
        std::vector<std::uint8_t> frame(1 << 17);
        sockaddr_ll from{};
        socklen_t size = sizeof from;
        const ssize_t got = recvfrom(socket_, frame.data(), frame.size(), 0,
                                     reinterpret_cast<sockaddr*>(&from), &size);
        if (got < 0 && errno == ENETDOWN) {
            continue;  // said once when the device goes down
        }
        BOOST_REQUIRE(got >= 0);
        if (from.sll_pkttype != PACKET_OUTGOING) {
            frame.resize(static_cast<std::size_t>(got));
            frames.push_back(std::move(frame));
        }
    }
    return frames;
}

}  // namespace pathproof::lab
