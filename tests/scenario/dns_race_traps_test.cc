// The symptoms of dns-race and snat-race by other causes, planted on the running kernel while it runs: no verdict
// may be false, no sentence may say what a value of the run contradicts.
#include <boost/test/unit_test.hpp>
#include <iostream>
#include <set>

#include "tests/scenario/dns_race_claims.h"
#include "tests/scenario/table_size.h"
#include "tests/scenario/traps.h"

BOOST_AUTO_TEST_SUITE(dns_race_traps)

using nlohmann::json;
using namespace std::chrono_literals;

namespace {

// A line for each trap, for people.
void tell(const std::string& trap, const Sprung& run, const json& scenario,
          std::size_t false_sentences) {
    std::map<std::string, int> causes;
    for (const char* list : {"cells", "controls"}) {
        for (const json& cell : scenario[list]) {
            const std::string cause = cell["cause"];
            ++causes[cell["verdict"].get<std::string>() + (cause.empty() ? "" : " " + cause)];
        }
    }
    std::cout << "TRAP " << trap << " | " << scenario["verdict"].get<std::string>() << ", exit "
              << run.exit_status << " | ";
    for (const auto& [cause, cells] : causes) {
        std::cout << cells << " " << cause << "; ";
    }
    std::cout << "| unexplained " << scenario["unexplained"] << ", false sentences "
              << false_sentences << ", " << static_cast<int>(run.seconds) << " s\n    "
              << scenario["headline"].get<std::string>() << "\n";
    for (const char* list : {"cells", "controls"}) {
        for (const json& cell : scenario[list]) {
            std::cout << "      " << cell["id"].get<std::string>() << " "
                      << cell["verdict"].get<std::string>() << ": "
                      << cell["reason"].get<std::string>() << "\n";
        }
    }
    std::cout << std::flush;
}

struct Expected {
    std::set<std::string> verdicts;
    std::string cause;  // in the cause of some cell; empty: not asked for
};

void check(const std::string& trap, const std::string& cells,
           const std::function<void(Planter&)>& plant, const Expected& expected,
           const std::string& id = "dns-race") {
    std::vector<std::string> arguments = {"repro", id};
    if (!cells.empty()) {
        arguments.insert(arguments.end(), {"--cells", cells});
    }
    const Sprung run = spring({.arguments = arguments, .plant = plant});
    BOOST_REQUIRE_MESSAGE(!run.report.is_discarded() && !run.report.is_null(),
                          trap << ": " << run.log);
    const json& scenario = run.scenario(id);
    const auto wrong = false_claims_of(scenario);
    tell(trap, run, scenario, wrong.size());
    for (const std::string& claim : wrong) {
        BOOST_TEST(false, trap << ": " << claim);
    }
    for (const std::string& claim : contradictions(scenario, {})) {
        BOOST_TEST(false, trap << ": " << claim);
    }
    for (const std::string& trouble : run.troubles) {
        BOOST_TEST(false, trap << ": " << trouble);
    }
    BOOST_TEST(expected.verdicts.contains(scenario["verdict"]),
               trap << ": " << scenario["verdict"] << ": " << scenario["headline"]);
    bool named = expected.cause.empty();
    for (const char* list : {"cells", "controls"}) {
        for (const json& cell : scenario[list]) {
            named |= cell["cause"].get<std::string>().find(expected.cause) != std::string::npos;
            const bool harmed =
                measure(cell, "queries_lost") + measure(cell, "queries_misdelivered") +
                    measure(cell, "queries_wrong") + measure(cell, "queries_late") !=
                0;
            const bool chance =
                cell["id"] == "cure.random-fully" && measure(cell, "queries_lost") <= 2;
            BOOST_TEST(!(harmed && cell["verdict"] == "PASS" && !chance),
                       trap << ": " << cell["id"] << " passes");
        }
    }
    BOOST_TEST(named, trap << ": " << expected.cause << " is named nowhere");
}

// A command in the DUT before the first cell.
auto at_once(const std::string& command) {
    return [command](Planter& lab) {
        lab.wait_for_namespace("dut", "vx");
        lab.in("dut", command);
    };
}

const char* const kDisturbed = "INCONCLUSIVE";
const std::string kFew =
    "same-tuple.two-cpus,control.same-tuple.one-cpu,cure.single-request,same-tuple.after-cure";
const std::string kLate = "late-answer.*,cure.single-request-reopen,control.same-tuple.one-cpu";
const std::string kSnat = "snat-race";
// Ahead of the lab's own rules, which are laid anew for each experiment.
const std::string kOneBackend =
    "nft 'add table ip trap; add chain ip trap to_one { type nat hook prerouting priority -110; }; "
    "add rule ip trap to_one ip daddr 198.51.100.10 udp dport 53 dnat to 203.0.113.2'";

}  // namespace

BOOST_AUTO_TEST_SUITE(few)

BOOST_AUTO_TEST_CASE(queries_that_a_rule_drops_are_no_race) {
    check("drop on d1", "control.same-tuple.one-cpu,same-tuple.two-cpus",
          at_once("iptables -t mangle -A PREROUTING -i d1 -p udp --dport 53 -j DROP"),
          {{kDisturbed}, "dropped"});
}

BOOST_AUTO_TEST_CASE(clashes_of_one_backend_are_exposed) {
    check("one backend", "control.same-tuple.one-cpu,same-tuple.two-cpus", at_once(kOneBackend),
          {{"EXPOSED"}, ""});
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(all)

namespace {

// Runs the command again and again until the run ends.
auto every(std::chrono::milliseconds interval, const std::string& command) {
    return [interval, command](Planter& lab) {
        lab.wait_for_namespace("dut", "vx");
        while (lab.going_on()) {
            (void)lab.try_in(
                "dut",
                command);  // between two experiments there is no such rule, at the end no namespace
            std::this_thread::sleep_for(interval);
        }
    };
}

const std::string kRandomPorts =
    "nft 'add chain ip trap from_random { type nat hook postrouting priority 90; }; "
    "add rule ip trap from_random oifname ds ip saddr 198.18.128.0/17 masquerade fully-random'";

}  // namespace

BOOST_AUTO_TEST_CASE(a_rule_drops_one_half_of_each_pair) {
    check("drop on d1", kFew,
          at_once("iptables -t mangle -A PREROUTING -i d1 -p udp --dport 53 -j DROP"),
          {{kDisturbed}, "dropped"});
}

BOOST_AUTO_TEST_CASE(a_rule_drops_a_fifth_of_the_answers) {
    check("answers dropped", kFew,
          at_once("iptables -t mangle -A PREROUTING -i ds -p udp -m statistic --mode random "
                  "--probability 0.2 -j DROP"),
          {{kDisturbed}, "dropped"});
}

BOOST_AUTO_TEST_CASE(all_queries_go_to_one_backend) {
    check("one backend", kFew + "," + kLate, at_once(kOneBackend), {{"EXPOSED"}, ""});
}

BOOST_AUTO_TEST_CASE(one_backend_and_random_source_ports) {
    const auto plant = at_once(kOneBackend + " && " + kRandomPorts);
    check("one backend, random SNAT", "", plant, {{"EXPOSED", kDisturbed}, ""});
    check("random SNAT", "", plant, {{"NOT REPRODUCED", kDisturbed}, ""}, kSnat);
}

BOOST_AUTO_TEST_CASE(the_conntrack_table_is_full) {
    TableSize table;
    const auto plant = [&](Planter& lab) {
        lab.wait_for_namespace("dut", "vx");
        table.set(300);
    };
    check("full table", kFew, plant, {{kDisturbed}, "table-full"});
    table.put_back();
    check("full table", "", plant, {{kDisturbed}, "table-full"}, kSnat);
}

BOOST_AUTO_TEST_CASE(conntrack_is_flushed_every_150_ms) {
    check("conntrack -F", kLate, every(150ms, "conntrack -F"), {{kDisturbed}, "conntrack-flush"});
}

BOOST_AUTO_TEST_CASE(a_link_is_down_for_a_while) {
    check("ds down 0.6 s", kLate,
          [](Planter& lab) {
              lab.wait_for_step("late-answer.900ms");
              // The link goes down when answers come, each time that the cell is tried. The
              // neighbours that go with the link come back with it.
              while (lab.going_on() && !lab.run().comes("  late-answer.1500ms", 10ms)) {
                  lab.try_in("dut",
                             "[ $(sysctl -n net.netfilter.nf_conntrack_count) -ge 200 ] || exit 0; "
                             "known=$(ip neigh show dev ds nud permanent); sleep 0.6; "
                             "ip link set ds down; sleep 0.6; ip link set ds up; "
                             "echo \"$known\" | while read address _ mac _; do "
                             "ip neigh replace $address lladdr $mac dev ds nud permanent; done");
              }
          },
          {{kDisturbed}, "link-down"});
}

BOOST_AUTO_TEST_CASE(the_answers_come_through_a_slow_path) {
    check("tbf on d0", kFew,
          at_once("tc qdisc add dev d0 root tbf rate 4mbit burst 4000 limit 4000000"),
          {{kDisturbed, "EXPOSED"}, ""});
}

BOOST_AUTO_TEST_CASE(rules_drop_what_conntrack_calls_invalid) {
    const auto plant = at_once("iptables -A FORWARD -m conntrack --ctstate INVALID -j DROP");
    check("ct state invalid drop", kLate, plant, {{"REPRODUCED", kDisturbed}, ""});
    check("ct state invalid drop", "", plant, {{"REPRODUCED", kDisturbed}, ""}, kSnat);
}

BOOST_AUTO_TEST_CASE(rules_drop_new_flows_from_the_servers) {
    check("new flows from ds dropped", kLate,
          at_once("iptables -A FORWARD -i ds -m conntrack --ctstate NEW -j DROP"),
          {{kDisturbed}, "dropped"});
}

BOOST_AUTO_TEST_CASE(the_steering_is_switched_off_beneath) {
    check("RPS off",
          "same-tuple.vxlan-two-outer-ports,same-tuple.list-receive,control.same-tuple.*",
          every(20ms, "echo 0 > /sys/class/net/d0/queues/rx-0/rps_cpus"), {{kDisturbed}, ""});
}

namespace {

const std::string kForeignInsertions =
    "conntrack -I -p udp -s 192.0.2.1 -d 192.0.2.2 --sport 1 --dport 2 -r 192.0.2.9 -q 192.0.2.8 "
    "--reply-port-src 9 --reply-port-dst 8 -t 30 2>/dev/null; conntrack -I -p udp -s 192.0.2.3 "
    "-d 192.0.2.4 --sport 3 --dport 4 -r 192.0.2.9 -q 192.0.2.8 --reply-port-src 9 "
    "--reply-port-dst 8 -t 30 2>/dev/null; true";

// tc: one packet in 32 is dropped, whatever it is.
constexpr const char* kDropSome = R"(
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
SEC("prog") int drop_some(struct __sk_buff* skb) {
    return skb->protocol == __builtin_bswap16(0x0800) && bpf_get_prandom_u32() % 32 == 0 ? 2 : 0;
}
)";

}  // namespace

BOOST_AUTO_TEST_CASE(tc_drops_some_queries_while_another_program_fails_to_insert) {
    const auto plant = [](Planter& lab) {
        lab.wait_for_namespace("dut", "vx");
        const std::string object = lab.bpf_object(kDropSome);
        for (const char* device : {"d0", "d1"}) {
            lab.in("dut", std::string("tc qdisc add dev ") + device +
                              " clsact && tc filter add dev " + device + " ingress bpf da obj " +
                              object + " sec prog");
        }
        every(10ms, kForeignInsertions)(lab);
    };
    check("tc drops, foreign insert_failed", "", plant, {{kDisturbed}, "dropped"}, kSnat);
}

BOOST_AUTO_TEST_CASE(another_program_fails_to_insert) {
    const auto plant = every(10ms, kForeignInsertions);
    check("foreign insert_failed", kFew, plant, {{"EXPOSED", kDisturbed}, ""});
    check("foreign insert_failed", "", plant, {{"REPRODUCED", kDisturbed}, ""}, kSnat);
}

BOOST_AUTO_TEST_CASE(the_reverse_path_filter_is_on) {
    check("rp_filter on d1", kFew, at_once("sysctl -qw net.ipv4.conf.d1.rp_filter=1"),
          {{kDisturbed}, "dropped"});
}

BOOST_AUTO_TEST_CASE(queries_are_not_tracked) {
    check("NOTRACK", kFew,
          at_once("iptables -t raw -A PREROUTING -p udp --dport 53 -j CT --notrack"),
          {{kDisturbed}, "dropped"});
}

BOOST_AUTO_TEST_CASE(entries_live_for_one_second) {
    check("udp timeout 1 s", kLate,
          [](Planter& lab) {
              lab.wait_for_step("late-answer.200ms");
              lab.in("dut",
                     "sysctl -qw net.netfilter.nf_conntrack_udp_timeout=1 "
                     "net.netfilter.nf_conntrack_udp_timeout_stream=1");
          },
          {{"REPRODUCED", kDisturbed}, ""});
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
