// `pathproof respond` as a program on kernel interfaces: AF_XDP and fanned-out packet sockets carry
// queries of a real kernel's sockets and their answers, and leave nothing behind.
#define BOOST_TEST_MODULE respond_lab
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "dataplane/frame/dns.h"
#include "harness/process/netns.h"
#include "harness/process/program.h"

using namespace pathproof;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

const std::string kServer = "198.18.0.53";

std::string shell(const std::string& script) {
    const auto out = process::run_checked({"sh", "-ec", script});
    BOOST_REQUIRE_MESSAGE(out, out.error().message);
    return *out;
}

// r0, the responder's, and c0, a kernel's with an address and sockets.
struct Cable {
    const std::string tester = "pp-rl" + std::to_string(getpid()) + "-t";
    const std::string client = "pp-rl" + std::to_string(getpid()) + "-c";
    const fs::path folder = fs::temp_directory_path() / tester;

    Cable() {
        fs::create_directory(folder);
        shell("ip netns add " + tester + "; ip netns add " + client);
        for (const std::string& name : {tester, client}) {
            shell("ip netns exec " + name +
                  " sysctl -qw net.ipv6.conf.all.disable_ipv6=1 "
                  "net.ipv6.conf.default.disable_ipv6=1");
        }
        const std::string in_client = "ip -n " + client + " ";
        shell("ip -n " + tester + " link add r0 type veth peer name c0 netns " + client +
              "; ip -n " + tester + " link set r0 up; " + in_client + "link set c0 up; " +
              in_client + "addr add 198.18.0.1/24 dev c0; " + in_client + "neigh add " + kServer +
              " lladdr 02:70:70:00:02:00 dev c0; ip netns exec " + client +
              " ethtool -K c0 tx off >/dev/null");
    }
    Cable(const Cable&) = delete;
    Cable& operator=(const Cable&) = delete;
    ~Cable() {
        for (const std::string& name : {tester, client}) {
            process::run_program({"ip", "netns", "del", name}).has_value();
        }
        fs::remove_all(folder);
    }

    std::string link() const { return shell("ip -n " + tester + " -d link show r0"); }

    // Sends one query from each of `sockets` sockets and says how many were answered in time.
    unsigned answered(unsigned sockets) const {
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

  private:
    static bool ask(std::uint16_t id) {
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
};

// The command in the background, its JSON in a file.
class Responder {
  public:
    Responder(const Cable& cable, const std::string& port, const std::string& options)
        : json_(cable.folder / "respond.json"), said_(cable.folder / "respond.err") {
        fs::remove(said_);
        const std::string command = std::string(std::getenv("PATHPROOF_BINARY")) + " respond " +
                                    port + " --netns " + cable.tester +
                                    " --rule address=192.0.2.1 --duration 30 --json " + options +
                                    " >" + json_.string() + " 2>" + said_.string();
        pid_ = fork();
        if (pid_ == 0) {
            execl("/bin/sh", "sh", "-c", ("exec " + command).c_str(), nullptr);
            _exit(127);
        }
        for (int look = 0; look < 200 && said().find("answering") == std::string::npos; ++look) {
            std::this_thread::sleep_for(50ms);
        }
    }
    Responder(const Responder&) = delete;
    Responder& operator=(const Responder&) = delete;
    ~Responder() {
        if (pid_ > 0) {
            kill(pid_, SIGKILL);
            waitpid(pid_, nullptr, 0);
        }
    }

    std::string said() const {
        std::ifstream file(said_);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    // Ends it by `signal` (0: waits for it to end by itself) and gives its exit status.
    int end(int signal) {
        if (signal != 0) {
            kill(pid_, signal);
        }
        int status = 0;
        waitpid(std::exchange(pid_, -1), &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    nlohmann::json report() const {
        std::ifstream file(json_);
        return nlohmann::json::parse(file);
    }

  private:
    fs::path json_;
    fs::path said_;
    pid_t pid_ = -1;
};

void check_complete(const nlohmann::json& report, unsigned queries) {
    BOOST_TEST(report["queries"]["received"] == queries);
    BOOST_TEST(report["queries"]["answered"] == queries);
    BOOST_TEST(report["queries"]["in_place"] == queries);
    BOOST_TEST(report["received"]["bad_checksum"] == 0);
    BOOST_TEST(report["objections"].empty(), report["objections"].dump());
}

std::string refusal(const Cable& cable, const std::string& port, const std::string& options) {
    const auto out = process::run_program(
        {"sh", "-c",
         std::string(std::getenv("PATHPROOF_BINARY")) + " respond " + port + " --netns " +
             cable.tester + " --rule address=192.0.2.1 --duration 0.1 " + options});
    BOOST_REQUIRE(out);
    BOOST_TEST(out->exit_status != 0);
    return out->err;
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_af_xdp_port_carries_both_ways_and_leaves_no_program_behind) {
    const Cable cable;
    Responder responder(cable, "af_xdp:r0", "");
    BOOST_TEST(cable.link().find("prog/xdp") != std::string::npos);
    BOOST_TEST(cable.answered(300) == 300u);
    BOOST_TEST(responder.end(SIGINT) == 0);
    check_complete(responder.report(), 300);
    BOOST_TEST(responder.report()["driver"] == "net_af_xdp");
    BOOST_TEST(cable.link().find("xdp") == std::string::npos);
    BOOST_TEST(cable.link().find("PROMISC") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_a_killed_af_xdp_port_left_is_taken_over_and_removed_by_the_next) {
    const Cable cable;
    BOOST_TEST(Responder(cable, "af_xdp:r0", "").end(SIGKILL) == 128 + SIGKILL);
    BOOST_TEST(cable.link().find("prog/xdp") != std::string::npos);
    Responder second(cable, "af_xdp:r0", "");
    BOOST_TEST(cable.answered(20) == 20u);
    BOOST_TEST(second.end(SIGTERM) == 0);
    BOOST_TEST(cable.link().find("xdp") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(two_queues_of_a_fanned_out_packet_socket_get_every_query_between_them) {
    const Cable cable;
    Responder responder(cable, "r0", "--cpu 0,0");
    BOOST_TEST(cable.answered(400) == 400u);
    BOOST_TEST(responder.end(SIGINT) == 0);
    const nlohmann::json report = responder.report();
    check_complete(report, 400);
    const auto by_lcore = report["received_by_lcore"].get<std::vector<std::uint64_t>>();
    BOOST_REQUIRE(by_lcore.size() == 2u);
    // 400 source ports over two queues: fewer than 100 on one has a chance of 1e-24.
    BOOST_TEST(by_lcore[0] >= 100u);
    BOOST_TEST(by_lcore[1] >= 100u);
}

BOOST_AUTO_TEST_CASE(a_port_that_disappears_ends_the_run_and_is_named) {
    for (const std::string driver : {"", "af_xdp:"}) {
        const Cable cable;
        Responder responder(cable, driver + "r0", "");
        BOOST_TEST(cable.answered(5) == 5u);
        shell("ip -n " + cable.tester + " link del r0");
        BOOST_TEST(responder.end(0) == 3);
        const nlohmann::json report = responder.report();
        BOOST_TEST(report["queries"]["answered"] == 5);
        BOOST_REQUIRE(!report["objections"].empty());
        BOOST_TEST(report["objections"].back() ==
                   "port r0: its kernel interface r0 no longer exists");
    }
}

BOOST_AUTO_TEST_CASE(more_queues_than_there_are_and_queues_left_out_are_refused_with_the_reason) {
    const Cable cable;
    BOOST_TEST(refusal(cable, "af_xdp:r0", "--queues 2").find("combined queue count") !=
               std::string::npos);
    BOOST_TEST(refusal(cable, "r0", "--queues 1 --cpu 0,0").find("a queue of its own") !=
               std::string::npos);
    shell("ip -n " + cable.tester +
          " link add r2 numrxqueues 2 numtxqueues 2 type veth peer name c2 numrxqueues 2 "
          "numtxqueues 2; ip -n " +
          cable.tester + " link set r2 up");
    BOOST_TEST(refusal(cable, "af_xdp:r2", "").find("2 receive queues") != std::string::npos);
}
