#include "tests/port/responder_rig.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "dataplane/frame/dns.h"
#include "harness/process/netns.h"
#include "tests/process/shell.h"

using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace pathproof {
namespace {

const std::string kServer = "198.18.0.53";

std::string binary() {
    const char* path = std::getenv("PATHPROOF_BINARY");
    BOOST_REQUIRE_MESSAGE(path != nullptr, "PATHPROOF_BINARY must name the binary");
    return path;
}

// Returns whether a query is answered with an address within a second.
bool ask(std::uint16_t id) {
    const int handle = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in server{};
    server.sin_family = AF_INET;
    server.sin_port = htons(53);
    inet_pton(AF_INET, kServer.c_str(), &server.sin_addr);
    std::array<std::uint8_t, 512> message{};
    const std::size_t size = frame::write_query(
        message, {.id = id, .name = frame::DnsName::from_text("pathproof.test").value()});
    bool right = false;
    pollfd answer{.fd = handle, .events = POLLIN, .revents = 0};
    if (connect(handle, reinterpret_cast<sockaddr*>(&server), sizeof server) == 0 &&
        send(handle, message.data(), size, 0) == static_cast<ssize_t>(size) &&
        poll(&answer, 1, 1000) == 1) {
        const ssize_t got = recv(handle, message.data(), message.size(), 0);
        frame::DnsReader read(
            {message.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))});
        const auto record = read.next_record();
        right = read.header().id == id && record && record->address().has_value();
    }
    close(handle);
    return right;
}

}  // namespace

std::string shell(const std::string& script) {
    return shell("", script);
}

process::ProgramOutput pathproof_run(const std::string& words) {
    const auto out = process::run_program({"sh", "-c", "exec " + binary() + " " + words});
    BOOST_REQUIRE_MESSAGE(out, out.error().message);
    return *out;
}

Cable::Cable()
    : tester("pp-rl" + std::to_string(getpid()) + "-t"),
      client("pp-rl" + std::to_string(getpid()) + "-c"),
      folder(fs::temp_directory_path() / tester) {
    fs::create_directory(folder);
    shell("ip netns add " + tester + "; ip netns add " + client);
    for (const std::string& name : {tester, client}) {
        shell("ip netns exec " + name +
              " sysctl -qw net.ipv6.conf.all.disable_ipv6=1 "
              "net.ipv6.conf.default.disable_ipv6=1");
    }
    const std::string in_client = "ip -n " + client + " ";
    shell("ip -n " + tester + " link add r0 type veth peer name c0 netns " + client + "; ip -n " +
          tester + " link set r0 up; " + in_client + "link set c0 up; " + in_client +
          "addr add 198.18.0.1/24 dev c0; " + in_client + "neigh add " + kServer +
          " lladdr 02:70:70:00:02:00 dev c0; ip netns exec " + client +
          " ethtool -K c0 tx off >/dev/null");
    setenv("PATHPROOF_RUN_DIR", (folder / "run").c_str(), 1);
}

Cable::~Cable() {
    for (const std::string& name : {tester, client}) {
        process::run_program({"ip", "netns", "del", name}).has_value();
    }
    fs::remove_all(folder);
}

std::string Cable::link() const {
    return shell("ip -n " + tester + " -d link show r0");
}

unsigned Cable::answered(unsigned sockets) const {
    unsigned count = 0;
    const Status asked = process::in_netns(client, [&] {
        for (unsigned n = 0; n < sockets; ++n) {
            count += ask(static_cast<std::uint16_t>(n)) ? 1 : 0;
        }
        return Status();
    });
    BOOST_REQUIRE(asked);
    return count;
}

Responder::Responder(const Cable& cable, const std::string& port, const std::string& options)
    : json_(cable.folder / "respond.json"), said_(cable.folder / "respond.err") {
    fs::remove(said_);
    const std::string command = binary() + " respond " + port + " --netns " + cable.tester +
                                " --rule address=192.0.2.1 --duration 30 --json " + options + " >" +
                                json_.string() + " 2>" + said_.string();
    pid_ = fork();
    if (pid_ == 0) {
        execl("/bin/sh", "sh", "-c", ("exec " + command).c_str(), nullptr);
        _exit(127);
    }
    for (int look = 0; look < 200 && said().find("answering") == std::string::npos; ++look) {
        std::this_thread::sleep_for(50ms);
    }
}

Responder::~Responder() {
    if (pid_ > 0) {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
}

std::string Responder::said() const {
    std::ifstream file(said_);
    return {std::istreambuf_iterator<char>(file), {}};
}

int Responder::end(int signal) {
    if (signal != 0) {
        kill(pid_, signal);
    }
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

nlohmann::json Responder::report() const {
    std::ifstream file(json_);
    return nlohmann::json::parse(file);
}

}  // namespace pathproof
