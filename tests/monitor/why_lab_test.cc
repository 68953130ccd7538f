// `pathproof inspect why` on the running kernel.
#include <fmt/format.h>
#include <sys/socket.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>
#include <future>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>
#include <tuple>

#include "dataplane/base/file.h"
#include "harness/netfilter/create.h"
#include "harness/netfilter/stats.h"
#include "harness/process/netns.h"
#include "harness/process/program.h"
#include "tests/monitor/lab_socket.h"
#include "tests/netfilter/lab_namespace.h"
#include "tests/netfilter/nfqueue.h"

BOOST_AUTO_TEST_SUITE(inspect_why)

using namespace pathproof;
using namespace std::chrono_literals;
using monitor::lab::LabSocket;
using nlohmann::json;

namespace {

constexpr const char* kClient = "198.18.7.1";
constexpr const char* kServer = "198.18.7.2";
constexpr const char* kSecondServer = "198.18.7.3";
constexpr const char* kService = "198.18.7.10";
constexpr const char* kAskedFlow = "udp 198.18.7.1:4000 198.18.7.10:53";

// A client and a service of one namespace, tracked.
struct Tracked {
    netfilter::lab::Namespace space{"why"};

    Tracked() {
        for (const char* address : {kClient, kServer, kSecondServer, kService}) {
            space.run(fmt::format("ip address add {}/32 dev lo", address));
        }
        space.run(
            fmt::format("iptables -t nat -A OUTPUT -p udp -d {} --dport 53 -j DNAT "
                        "--to-destination {}:53",
                        kService, kServer));
    }

    void timeout(unsigned seconds) const {
        space.run(fmt::format("sysctl -qw net.netfilter.nf_conntrack_udp_timeout={}", seconds));
    }

    void send(std::uint16_t port = 4000) const {
        LabSocket socket(space.name(), SOCK_DGRAM);
        socket.bind(kClient, port);
        socket.send_to(monitor::lab::end_of(kService, 53));
    }
};

struct Answer {
    int exit_status = 0;
    std::vector<std::string> steps;
    std::string answer;
    std::string text;
    std::string health, cause, why;
};

// Asks why of the flow, does `action` once it is being watched, and gives what was said.
// `over` is set then.
template <typename Action>
Answer why(const Tracked& lab, const std::string& flow, const char* seconds, const Action& action,
           std::atomic<bool>* over = nullptr) {
    auto asked = std::async(std::launch::async, [&] {
        return process::run_program({std::getenv("PATHPROOF"), "inspect", "why", flow, "--netns",
                                     lab.space.name(), "--json", "--duration", seconds},
                                    {.timeout = 150s});
    });
    const auto deadline = std::chrono::steady_clock::now() + 30s;
    while (!lab.space.has_listener() && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(10ms);
    }
    BOOST_TEST_REQUIRE(lab.space.has_listener());
    action();
    const auto said = asked.get();
    if (over != nullptr) {
        *over = true;
    }
    BOOST_TEST_REQUIRE(said.has_value());
    Answer answer{.exit_status = said->exit_status};
    std::istringstream lines(said->out);
    for (std::string line; std::getline(lines, line);) {
        const json value = json::parse(line);
        if (value.contains("step")) {
            answer.steps.push_back(value["step"]);
        } else {
            answer.answer = value.at("answer");
            answer.text = value.at("text");
            answer.health = value.at("health");
            answer.cause = value.at("cause").is_null() ? "" : value.at("cause");
            answer.why = value.at("why");
        }
    }
    BOOST_TEST_CONTEXT(said->out << said->err) {
        BOOST_TEST(!answer.answer.empty());
    }
    return answer;
}

BOOST_AUTO_TEST_CASE(an_entry_expires) {
    const Tracked lab;
    lab.timeout(2);
    const Answer answer = why(lab, kAskedFlow, "60", [&] { lab.send(); });
    BOOST_TEST(answer.answer == "expired", answer.text);
    // Nobody is there to answer.
    BOOST_TEST(answer.cause == "closed-socket", answer.why);
    BOOST_TEST(answer.exit_status == 1);
}

// The flow is older than the listening: the kernel tells nothing of its end.
BOOST_AUTO_TEST_CASE(an_entry_that_was_there_before_expires) {
    const Tracked lab;
    lab.timeout(5);
    lab.send();
    const Answer answer = why(lab, kAskedFlow, "60", [] {});
    BOOST_TEST(answer.answer == "expired", answer.text);
    BOOST_TEST(answer.steps.front() == "entry is in the table");
}

BOOST_AUTO_TEST_CASE(a_request_deletes_it_alone_or_with_others) {
    const Tracked lab;
    lab.timeout(120);
    // The flow is named by one of its packets as the server sees it.
    const Answer one = why(lab, "udp 198.18.7.1:4000 198.18.7.2:53", "60", [&] {
        lab.send(4000);
        lab.send(4001);
        lab.space.run("conntrack -D -p udp --orig-port-src 4000");
    });
    BOOST_TEST(one.answer == "deleted", one.text);
    BOOST_TEST(one.text.find("no other flow") != std::string::npos, one.text);
    const Answer all = why(lab, kAskedFlow, "60", [&] {
        lab.send(4000);
        lab.send(4002);
        lab.space.run("conntrack -F");
    });
    BOOST_TEST(all.answer == "deleted", all.text);
    BOOST_TEST(all.text.find("a flush or a wide filter") != std::string::npos, all.text);
}

BOOST_AUTO_TEST_CASE(a_reset_ends_it) {
    const Tracked lab;
    const Answer answer = why(lab, "tcp 198.18.7.1:4000 198.18.7.2:81", "60", [&] {
        LabSocket socket(lab.space.name(), SOCK_STREAM);
        socket.bind(kClient, 4000);
        socket.connect(kServer, 81);
    });
    BOOST_TEST(answer.answer == "reset", answer.text);
}

BOOST_AUTO_TEST_CASE(no_entry_is_made_of_what_is_not_tracked) {
    const Tracked lab;
    lab.space.run("iptables -t raw -A OUTPUT -p udp -j NOTRACK");
    const Answer untracked = why(lab, kAskedFlow, "3", [&] { lab.send(); });
    BOOST_TEST(untracked.answer == "never made: not tracked", untracked.text);
}

BOOST_AUTO_TEST_CASE(no_entry_is_made_of_what_a_rule_drops) {
    const Tracked lab;
    const netfilter::lab::Namespace peer("whyp");
    lab.space.run(fmt::format("ip link add v0 type veth peer name eth0 netns {}", peer.name()));
    for (const auto& [space, device, address] :
         {std::tuple{&lab.space, "v0", "198.18.6.1/24"}, {&peer, "eth0", "198.18.6.2/24"}}) {
        space->run(fmt::format("ip address add {} dev {}", address, device));
        space->run(fmt::format("ip link set {} up", device));
    }
    lab.space.run("iptables -A INPUT -p udp -j DROP");
    const Answer dropped = why(lab, "udp 198.18.6.2:4000 198.18.6.1:53", "3", [&] {
        LabSocket socket(peer.name(), SOCK_DGRAM);
        socket.bind("198.18.6.2", 4000);
        socket.send_to(monitor::lab::end_of("198.18.6.1", 53));
    });
    BOOST_TEST(dropped.answer == "never made: dropped by netfilter", dropped.text);
    BOOST_TEST(dropped.exit_status == 1);
    BOOST_TEST(dropped.cause == "dropped-by-rule", dropped.why);
    BOOST_TEST(dropped.why.find("-A INPUT -p udp -j DROP") != std::string::npos, dropped.why);
}

BOOST_AUTO_TEST_CASE(an_answered_flow_is_healthy) {
    const Tracked lab;
    LabSocket server(lab.space.name(), SOCK_DGRAM);
    server.bind(kServer, 53);
    const Answer answer = why(lab, kAskedFlow, "2", [&] {
        LabSocket client(lab.space.name(), SOCK_DGRAM);
        client.bind(kClient, 4000);
        client.send_to(monitor::lab::end_of(kService, 53));
        const auto asker = server.receive();
        BOOST_TEST_REQUIRE(asker.has_value());
        server.send_to(*asker);
        BOOST_TEST(client.receive().has_value());
    });
    BOOST_TEST(answer.health == "healthy", answer.why);
    BOOST_TEST(answer.exit_status == 0);
}

// The service has moved to another endpoint since the entry was made.
BOOST_AUTO_TEST_CASE(an_entry_that_is_older_than_the_rule_is_named_and_removed_alone) {
    const Tracked lab;
    lab.timeout(120);
    lab.send(4000);
    lab.space.run(fmt::format(
        "iptables -t nat -R OUTPUT 1 -p udp -d {} --dport 53 -j DNAT --to-destination {}:53",
        kService, kSecondServer));
    lab.send(4001);
    const auto stale = [&] {
        const auto said = process::run_program(
            {std::getenv("PATHPROOF"), "inspect", "stale", "--json", "--netns", lab.space.name()});
        BOOST_TEST_REQUIRE(said.has_value());
        return std::pair(said->exit_status, said->out);
    };
    const Answer answer = why(lab, kAskedFlow, "1", [] {});
    BOOST_TEST(answer.cause == "stale-entry", answer.why);
    BOOST_TEST(answer.exit_status == 1);
    const auto [status, out] = stale();
    BOOST_TEST(status == 1);
    const json found = json::parse(out.substr(0, out.find('\n')));
    BOOST_TEST(found.at("staleness") == "other destination");
    BOOST_TEST(found.at("would_go") == "to 198.18.7.3:53");
    lab.space.run({"sh", "-c", found.at("cure").get<std::string>()});
    BOOST_TEST(stale().first == 0);
    // The other flow's entry is still there.
    BOOST_TEST(lab.space.run("conntrack -L -p udp").find("sport=4001") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(of_a_flow_that_never_was_nothing_is_said) {
    const Tracked lab;
    const Answer answer = why(lab, kAskedFlow, "1", [&] { lab.send(4001); });
    BOOST_TEST(answer.answer == "nothing seen", answer.text);
    BOOST_TEST(answer.exit_status == 3);
}

// The table is full of flows that stay, but for this one: early_drop takes it as soon as a new flow
// looks for room within eight buckets of it, unless the collector is there before.
Answer what_took_its_room() {
    const Tracked lab;
    lab.timeout(3600);
    const auto size = netfilter::table_size(lab.space.name());
    BOOST_TEST_REQUIRE(size.has_value());
    std::atomic<bool> over = false;
    std::future<void> strangers;
    const Answer answer = why(
        lab, kAskedFlow, "120",
        [&] {
            lab.send();
            const auto filled = netfilter::create_entries(
                lab.space.name(), size->maximum, [](std::uint64_t number) {
                    return netfilter::NewEntry{
                        .source = {frame::IpAddress::v4(0x0A000000)
                                       .plus(static_cast<std::uint32_t>(number)),
                                   1000},
                        .destination = {frame::IpAddress::v4(0xC0000201), 53},
                        .protocol = IPPROTO_UDP,
                        .status = netfilter::kAnsweredFlow};
                });
            BOOST_TEST(!filled.has_value());  // one too many: the table is full
            strangers = std::async(std::launch::async, [&] {
                for (std::uint32_t place = 0; !over; ++place) {
                    (void)process::in_netns(lab.space.name(), [&]() -> Status {
                        const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
                        for (int i = 0; i < 20'000 && !over; ++i, ++place) {
                            sockaddr_in there = monitor::lab::end_of(
                                kServer, static_cast<std::uint16_t>(1 + place % 60'000));
                            (void)sendto(socket.get(), "q", 1, 0,
                                         reinterpret_cast<const sockaddr*>(&there), sizeof there);
                        }
                        return {};
                    });
                }
            });
        },
        &over);
    strangers.get();
    return answer;
}

BOOST_AUTO_TEST_CASE(another_flow_takes_its_room) {
    Answer answer = what_took_its_room();
    for (int tries = 1; tries < 5 && answer.text.find("the collector removes") != std::string::npos;
         ++tries) {
        answer = what_took_its_room();
    }
    BOOST_TEST(answer.answer == "evicted", answer.text);
    BOOST_TEST(answer.text.find("began then") != std::string::npos, answer.text);
}

BOOST_AUTO_TEST_CASE(a_clash_is_told) {
    const Tracked lab;
    lab.timeout(120);
    lab.space.run("iptables -t nat -F");
    for (const auto& [match, backend] :
         {std::pair{"-m statistic --mode nth --every 2 --packet 0", kServer},
          {"", kSecondServer}}) {
        lab.space.run(fmt::format(
            "iptables -t nat -A OUTPUT -p udp -d {} --dport 53 {} -j DNAT --to-destination {}:53",
            kService, match, backend));
    }
    lab.space.run(
        "iptables -t mangle -A POSTROUTING -p udp --dport 53 -m conntrack --ctstate NEW -j NFQUEUE "
        "--queue-num 9");
    netfilter::lab::HeldPackets held(lab.space.name(), 9);
    LabSocket second(lab.space.name(), SOCK_DGRAM);
    second.bind(kSecondServer, 53);
    const Answer answer = why(lab, kAskedFlow, "8", [&] {
        LabSocket client(lab.space.name(), SOCK_DGRAM);
        client.bind(kClient, 4000);
        for (int i = 0; i < 2; ++i) {
            client.send_to(monitor::lab::end_of(kService, 53));
        }
        for (const std::uint32_t id : held.wait_for(2)) {
            held.release(id);
        }
        const auto asker = second.receive();
        BOOST_TEST_REQUIRE(asker.has_value());
        second.send_to(*asker);  // UPDATE of the hidden entry
    });
    BOOST_TEST(answer.text.find("clashed") != std::string::npos, answer.text);
    BOOST_TEST(answer.answer == "still there", answer.text);
}

BOOST_AUTO_TEST_CASE(what_is_no_flow_and_no_namespace_is_refused) {
    for (const std::vector<std::string>& words : {std::vector<std::string>{"udp 1.2.3.4:5"},
                                                  {kAskedFlow, "--netns", "pp-nosuch"},
                                                  {kAskedFlow, "--netns", "/proc/1/ns/none"},
                                                  {kAskedFlow, "--duration", "0"},
                                                  {kAskedFlow, "--zone", "70000"}}) {
        std::vector<std::string> argv{std::getenv("PATHPROOF"), "inspect", "why"};
        argv.insert(argv.end(), words.begin(), words.end());
        const auto said = process::run_program(argv);
        BOOST_TEST_REQUIRE(said.has_value());
        BOOST_TEST(said->exit_status == 2, said->err);
        BOOST_TEST(said->err.starts_with("pathproof: "), said->err);
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
