#define BOOST_TEST_MODULE verify lab
// `pathproof verify` on captures of a real path of this kernel: a router between two namespaces, as it
// is and with faults that nftables plants.
#include <signal.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/process/program.h"
#include "tests/netfilter/lab_namespace.h"
#include "tests/netfilter/needs_root.h"

using namespace pathproof;
using netfilter::lab::Namespace;
using nlohmann::json;

namespace {

// Serves and asks on port 5000: a TCP transfer each way, datagrams of many lengths, echoes of them.
constexpr const char* kTraffic = R"(
import os, socket, sys, threading, time
def serve():
    def one(c):
        while c.recv(65536): pass
        c.sendall(bytes(200000)); c.close()
    def tcp():
        s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(("", 5000)); s.listen(8); open(sys.argv[2], "w").close()
        while True: threading.Thread(target=one, args=(s.accept()[0],), daemon=True).start()
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(("", 5000))
    threading.Thread(target=tcp, daemon=True).start()
    while True:
        d, a = u.recvfrom(65536); u.sendto(d[::-1], a)
def ask(to):
    for i in range(2):
        s = socket.socket(); s.settimeout(10); s.connect((to, 5000))
        s.sendall(os.urandom(300000) + bytes(100000)); s.shutdown(1)
        while s.recv(65536): pass
    us = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for i in range(3)]
    for i in range(300):
        us[i % 3].sendto(os.urandom(16 + i * 37 % 1300), (to, 5000)); time.sleep(0.001)
serve() if sys.argv[1] == "serve" else ask(sys.argv[2])
)";

class Folder {
  public:
    Folder() { std::filesystem::create_directories(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() { std::filesystem::remove_all(path_); }
    std::string operator/(const std::string& name) const { return (path_ / name).string(); }

  private:
    std::filesystem::path path_ =
        std::filesystem::temp_directory_path() / fmt::format("pp-verify-{}", getpid());
};

// a - ra router rb - b; what crosses ra and rb is captured.
class Path {
  public:
    // The path runs on one CPU: a sender that changes its CPU overtakes itself on veth.
    explicit Path(bool masquerade) {
        a_.run("ip link add e0 type veth peer name ra netns " + router_.name());
        b_.run("ip link add e0 type veth peer name rb netns " + router_.name());
        a_.run("ip address add 198.18.0.2/24 dev e0");
        b_.run("ip address add 203.0.113.2/24 dev e0");
        router_.run("ip address add 198.18.0.1/24 dev ra");
        router_.run("ip address add 203.0.113.1/24 dev rb");
        a_.run("ip link set e0 up");
        b_.run("ip link set e0 up");
        router_.run("ip link set ra up");
        router_.run("ip link set rb up");
        a_.run("ip route add default via 198.18.0.1");
        b_.run("ip route add default via 203.0.113.1");
        router_.run("sysctl -qw net.ipv4.ip_forward=1");
        // Segments are cut in software where they leave, and merged again where they arrive.
        router_.run("ethtool -K rb tso off gso off");
        router_.run("nft add table ip lab");
        if (masquerade) {
            router_.run("nft add chain ip lab nat { type nat hook postrouting priority 100; }");
            router_.run("nft add rule ip lab nat oifname rb masquerade");
        }
        router_.run("nft add chain ip lab mangle { type filter hook forward priority 0; }");
        std::ofstream(folder_ / "traffic.py") << kTraffic;
    }

    const Namespace& router() const { return router_; }

    // Listens at the router's own ports while 300 datagrams of 62 to 1057 bytes are sent.
    json verify_live(const std::string& options, int& exit_code) {
        const std::string script = fmt::format(
            "ip netns exec {0} python3 -c '\n"
            "import socket, time\n"
            "time.sleep(1.5)\n"
            "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
            "for i in range(300):\n"
            "    s.sendto(b\"%05d\" % i * (4 + i % 200), (\"203.0.113.2\", 5000))\n"
            "    time.sleep(0.003)' &\n"
            "{1} verify --json --in ra --out rb --netns {2} {3}; code=$?; wait; exit $code",
            a_.name(), std::getenv("PATHPROOF"), router_.name(), options);
        const auto said = process::run_program({"/bin/sh", "-c", script});
        BOOST_REQUIRE_MESSAGE(said, said.error().message);
        exit_code = said->exit_status;
        BOOST_REQUIRE_MESSAGE(said->out.starts_with('{'), said->err);
        return json::parse(said->out);
    }

    // TCP of this kernel from behind a's port to behind b's, judged at the router's own ports; `options` come
    // last.
    json verify_stream(const std::string& options, int& exit_code) {
        // Devices that carry the default route are not touched.
        for (const Namespace* const end : {&a_, &b_}) {
            static_cast<void>(
                process::run_program({"ip", "-n", end->name(), "route", "del", "default"}));
        }
        const auto said = process::run_program(
            {"/bin/sh", "-c",
             fmt::format(
                 "exec {} verify --json --in ra --out rb --netns {} --allow router --seconds 1 "
                 "--stream-bytes 4000000 --stream-mbps 100 --stream "
                 "198.18.0.2/24,198.18.0.1@e0@{} 203.0.113.2/24,203.0.113.1@e0@{} {}",
                 std::getenv("PATHPROOF"), router_.name(), a_.name(), b_.name(), options)});
        BOOST_REQUIRE_MESSAGE(said, said.error().message);
        exit_code = said->exit_status;
        BOOST_REQUIRE_MESSAGE(said->out.starts_with('{'), said->err);
        return json::parse(said->out);
    }
    const Namespace& sender() const { return a_; }

    // In immediate mode with -U tcpdump keeps nothing back that would be lost when it is stopped, but can
    // sleep through a SIGTERM until the next frame.
    // Makes traffic, captures it on both sides and gives verify's JSON and exit code.
    json verify(const std::string& allow, int& exit_code) {
        std::filesystem::remove(folder_ / "ready");
        const std::string script = fmt::format(
            "cd {0}\n"
            "dump() {{ exec ip netns exec {1} tcpdump --immediate-mode -Z root -B 16384 -U \"$@\"; "
            "}}\n"
            "dump -w in.pcap -i ra 2>in.log & in=$!\n"
            "dump -w out.pcap -i rb 2>out.log & out=$!\n"
            "taskset -c 0 ip netns exec {2} python3 traffic.py serve ready & serve=$!\n"
            "for i in $(seq 200); do\n"
            "  [ -e ready ] && grep -q listening in.log && grep -q listening out.log && break\n"
            "  sleep 0.05\n"
            "done\n"
            "ip netns exec {3} ping -q -c 5 -i 0.02 203.0.113.2\n"
            "taskset -c 0 ip netns exec {3} timeout 20 python3 traffic.py ask 203.0.113.2\n"
            "sleep 0.5; kill -KILL $in; sleep 0.2; kill -KILL $out; kill $serve; wait $in $out",
            folder_ / "", router_.name(), b_.name(), a_.name());
        const auto ran = process::run_program({"/bin/sh", "-c", script});
        BOOST_REQUIRE_MESSAGE(ran, ran.error().message);
        const auto said =
            process::run_program({"/bin/sh", "-c",
                                  fmt::format("exec {} verify --in {} --out {} --allow {} --json",
                                              std::getenv("PATHPROOF"), folder_ / "in.pcap",
                                              folder_ / "out.pcap", allow)});
        BOOST_REQUIRE_MESSAGE(said, said.error().message);
        exit_code = said->exit_status;
        BOOST_REQUIRE_MESSAGE(said->out.starts_with('{'), said->err);
        return json::parse(said->out);
    }

  private:
    Folder folder_;
    Namespace a_{"a"};
    Namespace router_{"router"};
    Namespace b_{"b"};
};

std::uint64_t count(const json& said, const std::string& one) {
    return said["forward"]["classes"][one].get<std::uint64_t>() +
           said["backward"]["classes"][one].get<std::uint64_t>();
}

bool names(const json& said, const std::string& text) {
    for (const json& finding : said["findings"]) {
        if (finding["text"].get<std::string>().find(text) != std::string::npos) {
            return true;
        }
    }
    return false;
}

constexpr const char* kAllowed = "router nat gso gro";

}  // namespace

BOOST_AUTO_TEST_CASE(a_healthy_router_raises_no_alarm_and_what_is_not_allowed_is_named) {
    Path path(true);
    int code = -1;
    const json said = path.verify(kAllowed, code);
    BOOST_TEST_CONTEXT(said.dump(1)) {
        BOOST_TEST(code == 0);
        BOOST_TEST(said["findings"].empty());
        BOOST_TEST(said["forward"]["sent"].get<int>() > 100);
        BOOST_TEST(said["backward"]["sent"].get<int>() > 100);
        BOOST_TEST(said["used"]["nat"].get<int>() > 100);
        BOOST_TEST(said["used"]["gso"].get<int>() > 50);
    }
    const json strict = path.verify("router gso gro", code);
    BOOST_TEST(code == 1);
    BOOST_TEST(names(strict, "source address 198.18.0.2 became 203.0.113.1"));
}

BOOST_AUTO_TEST_CASE(faults_that_the_kernel_plants_are_found_and_named) {
    struct Fault {
        const char* rule;  // in the router's forward chain
        bool masquerade;
        const char* found_as;
        const char* text;
    };
    const std::vector<Fault> faults = {
        {"numgen inc mod 20 7 drop", true, "missing", "never came out"},
        {"numgen inc mod 20 7 dup to 203.0.113.2 device rb", false, "doubled", "more than once"},
        {"numgen inc mod 20 7 @th,160,8 set 0x5a", true, "damaged", "payload offset 12"},
        {"ip dscp set ef", true, "changed", "ipv4.tos 0x00 became 0xb8"},
        {"numgen inc mod 20 7 ip ttl set 5", true, "changed", "hop limit lowered by"},
        {"udp checksum set 0", true, "changed", "taken off"},
    };
    for (const Fault& fault : faults) {
        Path path(fault.masquerade);
        path.router().run(std::string("nft add rule ip lab mangle oifname rb udp dport 5000 ") +
                          fault.rule);
        int code = -1;
        const json said = path.verify(kAllowed, code);
        BOOST_TEST_CONTEXT(fault.rule << "\n" << said.dump(1)) {
            BOOST_TEST(code == 1);
            BOOST_TEST(count(said, fault.found_as) > 0U);
            BOOST_TEST(names(said, fault.text));
        }
    }
}

BOOST_AUTO_TEST_CASE(ports_are_judged_while_it_happens) {
    Path path(false);
    int code = -1;
    const json healthy = path.verify_live("--allow router --seconds 5", code);
    BOOST_TEST_CONTEXT(healthy.dump(1)) {
        BOOST_TEST(code == 0);
        BOOST_TEST(healthy["forward"]["classes"]["as_sent"].get<int>() == 300);
        BOOST_TEST(healthy["findings"].empty());
        BOOST_TEST(healthy["in"][0]["path"] == "port ra");
        BOOST_TEST(healthy["out"][0]["dropped"] == 0);
    }
    const json counted = path.verify_live("--allow router --count 100 --seconds 20", code);
    BOOST_TEST_CONTEXT(counted.dump(1)) {
        BOOST_TEST(code == 0);
        BOOST_TEST(counted["forward"]["sent"].get<int>() >= 100);
        BOOST_TEST(counted["forward"]["sent"].get<int>() < 290);
    }
    path.router().run("nft add rule ip lab mangle oifname rb meta length gt 700 drop");
    const json cut = path.verify_live("--allow router --seconds 5", code);
    BOOST_TEST_CONTEXT(cut.dump(1)) {
        BOOST_TEST(code == 1);
        BOOST_TEST_REQUIRE(cut["findings"].size() == 1U);
        BOOST_TEST(cut["findings"][0]["class"] == "missing");
        BOOST_TEST(cut["findings"][0]["located"].get<std::string>().starts_with(
            "frames of 717 or more bytes (right: up to 71"));
    }
}

namespace {

const json& gathered(const json& said, const char* port) {
    for (const json& one : said["stream"]["gathered"]) {
        if (one["port"] == port) {
            return one;
        }
    }
    BOOST_FAIL("nothing gathered at " << port << ": " << said.dump(1));
    return said;
}

}  // namespace

BOOST_AUTO_TEST_CASE(streams_of_the_kernel_show_what_a_router_gathers_and_cuts) {
    Path path(false);
    // Segments leave the sender one by one.
    path.sender().run("ethtool -K e0 tso off gso off");
    for (const bool merges : {false, true}) {
        path.router().run(std::string("ethtool -K ra gro ") + (merges ? "on" : "off"));
        int code = -1;
        const json said = path.verify_stream("", code);
        const json& stream = said["stream"];
        BOOST_TEST_CONTEXT(said.dump(1)) {
            BOOST_TEST(code == 0);
            BOOST_TEST(stream["connections"].get<int>() >= 2);
            BOOST_TEST(stream["whole"] == stream["connections"]);
            BOOST_TEST(stream["bytes"].get<std::uint64_t>() ==
                       stream["whole"].get<std::uint64_t>() * 4'000'000);
            BOOST_TEST(stream["segment_bytes"] == 1448);
            BOOST_TEST(stream["mbps"].get<double>() > 1);
            BOOST_TEST(stream["mbps"].get<double>() < 130);
            BOOST_TEST((gathered(said, "ra")["super_frames"].get<int>() > 0) == merges);
            // Super-frames are cut in software before the port sends them.
            BOOST_TEST(gathered(said, "rb")["super_frames"] == 0);
            BOOST_TEST((said["used"]["gso"].get<int>() > 0) == merges);
        }
    }
}

BOOST_AUTO_TEST_CASE(faults_on_streams_of_the_kernel_are_found_and_located) {
    struct Fault {
        const char* rule;
        const char* found_as;
        const char* text;
        const char* located;
        bool whole;  // all that is lost is sent again
    };
    const std::vector<Fault> faults = {
        {"numgen inc mod 20 7 drop", "missing", "never came out", "every 20th", true},
        {"meta length gt 20000 drop", "missing", "never came out", "frames of ", true},
        {"tcp flags & (syn|fin) == 0 meta length gt 1000 @th,320,8 set 0x5a", "damaged",
         "payload offset", "", false},
    };
    for (const Fault& fault : faults) {
        Path path(false);
        path.router().run("ethtool -K ra gro on");
        path.router().run(std::string("nft add rule ip lab mangle oifname rb tcp dport 5201 ") +
                          fault.rule);
        int code = -1;
        const json said = path.verify_stream("", code);
        BOOST_TEST_CONTEXT(fault.rule << "\n" << said.dump(1)) {
            BOOST_TEST(code == 1);
            BOOST_TEST(count(said, fault.found_as) > 0U);
            BOOST_TEST(names(said, fault.text));
            BOOST_TEST((said["findings"][0]["located"].get<std::string>().find(fault.located) !=
                        std::string::npos));
            BOOST_TEST((said["stream"]["whole"] == said["stream"]["connections"]) == fault.whole);
            if (fault.whole) {
                BOOST_TEST(said["stream"]["retransmitted"].get<int>() > 0);
            } else {
                BOOST_TEST((said["stream"]["trouble"].get<std::string>().find("digest is wrong") !=
                            std::string::npos));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_stream_that_nothing_answers_is_none_that_arrived) {
    Path path(false);
    path.router().run("sysctl -qw net.ipv4.ip_forward=0");
    int code = -1;
    const json said = path.verify_stream("", code);
    BOOST_TEST_CONTEXT(said.dump(1)) {
        BOOST_TEST(code == 1);
        BOOST_TEST(said["stream"]["whole"] == 0);
        BOOST_TEST((said["stream"]["trouble"].get<std::string>().starts_with("connect timed out")));
        BOOST_TEST(count(said, "missing") > 0U);
    }
}

BOOST_AUTO_TEST_CASE(files_and_ports_are_not_mixed) {
    const auto refused = [](const std::string& options, const std::string& part) {
        const auto said = process::run_program(
            {"/bin/sh", "-c", fmt::format("exec {} verify {}", std::getenv("PATHPROOF"), options)});
        BOOST_REQUIRE(said);
        BOOST_TEST(said->exit_status == 2, said->err);
        BOOST_TEST(said->err.find(part) != std::string::npos, said->err);
    };
    refused("--in ra --out rb", "a port needs --seconds or --count");
    refused("--in /bin/sh --out rb --seconds 1", "is a file");
    refused("--in /nowhere.pcap --out /nowhere2.pcap --netns x", "is for ports");
    refused("--in nope --out nope2 --seconds 1", "there is no port");
    const std::string ports = "--in lo --out lo --far-ends --seconds 1 --stream ";
    refused("--in /bin/sh --out /bin/ls --stream 198.18.0.2/24 198.18.0.3/24",
            "needs --seconds or --count");
    refused("--in lo --out lo --seconds 1 --stream 198.18.0.2/24 198.18.0.3/24",
            "has to name the interface");
    refused(ports + "198.18.0.2 198.18.0.3/24", "an end is ADDRESS/PREFIX");
    refused(ports + "198.18.0.2/24,2001:db8::1@nope 198.18.0.3/24", "of another family");
    refused(ports + "198.18.0.2/24@nope 198.18.0.3/24", "there is no port 'nope'");
    refused(ports + "198.18.0.2/24@nope@nowhere 198.18.0.3/24", "nowhere");
}
