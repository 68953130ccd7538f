// Every scenario of the NAT path and the resolvers beside every plant: the same symptom by another cause, a
// counter that strangers raise, a set-up that somebody takes away, a tester short of CPU time. Rows are a scenario
// and a plant; each is a test case of its own, trap_table/PLANT/SCENARIO.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include "tests/scenario/traps.h"

using nlohmann::json;
using namespace std::chrono_literals;

namespace {

// The fewest cells that show a scenario: what fails, a control, a cure, and what fails again without it.
struct Row {
    const char* scenario;
    const char* cells;
};
constexpr Row kScenarios[] = {
    {"snat-timestamps",
     "small-range.random-fully,control.no-nat,cure.timestamps-2,small-range.after-cure"},
    {"stale-udp", "other-endpoint,control.new-flow,cure.delete-entry,other-endpoint.after-cure"},
    {"bridge-unnat", "bridge-nf-off,control.direct,cure.bridge-nf-on,bridge-nf-off.after-cure"},
    {"stale-endpoint",
     "dead.closed,control.all-alive,cure.rules-of-the-living,dead.closed.after-cure"},
    {"table-full", "answered,control.half.answered,cure.delete-entries,answered.after-cure"},
    {"snat-exhaustion", "control.empty-range,fill-99,cure.all-ports,fill-99.after-cure"},
    {"pmtu-blackhole",
     "control.wide-hop,df-unset.icmp-filtered.fragments-dropped,cure.mtu,"
     "df-unset.icmp-filtered.fragments-dropped.after-cure"},
    {"invalid-rst", "ahead,control.no-segment,cure.be-liberal,ahead.after-cure"},
    {"search-path", "glibc.list-6,control.first-of-list,cure.trailing-dot,glibc.list-6.after-cure"},
    {"split-answer", "glibc.nx-cname,control.nx-nx,cure.trailing-dot,glibc.nx-cname.after-cure"},
    {"dns-tcp-limit", "control.idle-19,idle-20,cure.idle-20.max-idle,idle-20.after-cure"},
    {"large-answer",
     "glibc.4096.fragments-dropped,control.512,cure.edns-1232,"
     "glibc.4096.fragments-dropped.after-cure"},
    {"nodelocal", "control.one-by-one,no-cache,cure.link-local,no-cache.after-cure"},
};

enum class Effect {
    kNone,   // on strangers alone: all is said as without the plant
    kDoubt,  // on the run's time or its log: as without it, or nothing is concluded
    kHarm,  // on the run's packets, or on what it set up: no control and no cure has the scenario's cause
};

struct Plant {
    const char* name;
    Effect effect;
    std::function<void(Planter&)> plant;
};

void on_the_dut(Planter& lab, const std::string& command) {
    lab.wait_for_namespace("server", "s0");
    lab.in("dut", command);
}

// Again and again until the run ends; between two cells it may fail.
auto every(std::chrono::milliseconds interval, const std::string& command) {
    return [interval, command](Planter& lab) {
        lab.wait_for_namespace("server", "s0");
        while (lab.going_on()) {
            (void)lab.try_in("dut", command);
            std::this_thread::sleep_for(interval);
        }
    };
}

auto nft(const std::string& chain) {
    return [chain](Planter& lab) {
        on_the_dut(lab, "nft 'table ip trap { chain drops { " + chain + " }; }'");
    };
}

// A program that passes three packets of four.
std::string three_of_four(const char* context, const char* dropped, const char* passed) {
    return std::string("#include <linux/bpf.h>\n#include <bpf/bpf_helpers.h>\n") +
           "SEC(\"prog\") int lose(struct " + context + "* packet) {\n" +
           "    return bpf_get_prandom_u32() % 4 == 0 ? " + dropped + " : " + passed + ";\n}\n" +
           "char _license[] SEC(\"license\") = \"GPL\";\n";
}

// Datagrams of the DUT's own that a rule drops, that no socket takes, and whose entry is there already.
const char* const kStrangersLosses =
    "nft 'table ip strangers { chain out { type filter hook output priority 0; udp dport 9998 "
    "drop; "
    "}; }' 2>/dev/null; python3 -c 'import socket\n"
    "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
    "for i in range(100):\n"
    " for port in 9998, 9999:\n"
    "  try: s.sendto(b\"x\", (\"127.0.0.1\", port))\n"
    "  except OSError: pass'; "
    "conntrack -I -p udp -s 192.0.2.1 -d 192.0.2.2 --sport 1 --dport 2 -t 9; "
    "conntrack -I -p udp -s 192.0.2.1 -d 192.0.2.2 --sport 1 --dport 2 -t 9";

// Flows of the DUT's own, some thousands a second.
const char* const kStrangersFlows =
    "timeout 120 python3 -c 'import socket\n"
    "while True:\n"
    " for port in range(20000, 21000):\n"
    "  s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
    "  s.bind((\"127.0.0.1\", port))\n"
    "  s.sendto(b\"x\", (\"127.0.0.2\", 9))\n"
    "  s.close()' >/dev/null 2>&1 &";

const std::vector<Plant>& plants() {
    static const std::vector<Plant> all = {
        {"strangers_losses", Effect::kNone, every(20ms, kStrangersLosses)},
        {"strangers_flows", Effect::kDoubt, [](Planter& lab) { on_the_dut(lab, kStrangersFlows); }},
        {"busy_cpus", Effect::kDoubt,
         [](Planter& lab) {
             on_the_dut(lab,
                        "for i in 1 2 3 4; do timeout 120 sh -c 'while :; do :; done' "
                        ">/dev/null 2>&1 & done");
         }},
        {"dropped_before_conntrack", Effect::kHarm,
         nft("type filter hook prerouting priority -400; numgen random mod 4 == 0 drop;")},
        {"dropped_behind_conntrack", Effect::kHarm,
         nft("type filter hook postrouting priority 400; numgen random mod 4 == 0 drop;")},
        {"dropped_at_egress", Effect::kHarm,
         [](Planter& lab) {
             const std::string object =
                 lab.bpf_object(three_of_four("__sk_buff", "2 /* TC_ACT_SHOT */", "0"));
             on_the_dut(lab,
                        "tc qdisc add dev d1 clsact && tc filter add dev d1 egress bpf da obj " +
                            object + " sec prog");
         }},
        {"dropped_by_xdp", Effect::kHarm,
         [](Planter& lab) {
             const std::string object =
                 lab.bpf_object(three_of_four("xdp_md", "XDP_DROP", "XDP_PASS"));
             on_the_dut(lab, "ip link set dev d0 xdpgeneric obj " + object + " sec prog");
         }},
        {"rules_flushed", Effect::kHarm,
         every(50ms, "iptables -t nat -F; nft delete table ip kube-proxy")},
        {"entries_flushed", Effect::kHarm, every(50ms, "conntrack -F")},
    };
    return all;
}

std::set<std::string> causes_of(const json& cell) {
    std::set<std::string> causes;
    std::istringstream words(cell["cause"].get<std::string>());
    for (std::string cause; std::getline(words, cause, '+');) {
        causes.insert(cause);
    }
    return causes;
}

// "stale-endpoint+rule-drop": no word is missing.
bool is_list_of_words(const std::string& text) {
    return !text.empty() && text.front() != '+' && text.back() != '+' &&
           text.find("++") == std::string::npos;
}

bool all_pass(const json& scenario) {
    return std::ranges::all_of(scenario["cells"],
                               [](const json& cell) { return cell["verdict"] == "PASS"; });
}

json run_with(const Row& row, const Plant* plant) {
    const Sprung run =
        spring({.arguments = {"repro", row.scenario, "--cells", row.cells},
                .plant = plant == nullptr ? std::function<void(Planter&)>() : plant->plant});
    BOOST_REQUIRE_MESSAGE(run.report.is_object(), run.log);
    for (const std::string& trouble : run.troubles) {
        BOOST_TEST(false, trouble);
    }
    const json scenario = run.scenario(row.scenario);
    for (const std::string& claim : contradictions(scenario, {})) {
        BOOST_TEST(false, claim);
    }
    BOOST_TEST((run.exit_status != 0 || scenario["verdict"] == "REPRODUCED"), scenario["headline"]);
    BOOST_TEST((run.exit_status == 3 || scenario["verdict"] != "INCONCLUSIVE"),
               scenario["headline"]);
    return scenario;
}

// A scenario without a plant, once.
const json& alone(const Row& row) {
    static std::map<std::string, json> known;
    const auto at = known.find(row.scenario);
    return at != known.end() ? at->second
                             : known.emplace(row.scenario, run_with(row, nullptr)).first->second;
}

std::set<std::string> own_causes(const json& scenario) {
    std::set<std::string> own;
    for (const json& cell : scenario["cells"]) {
        own.merge(causes_of(cell));
    }
    return own;
}

void check(const Row& row, const Plant& plant) {
    const json& without = alone(row);
    BOOST_REQUIRE(without["verdict"] == "REPRODUCED");
    const std::set<std::string> own = own_causes(without);
    BOOST_REQUIRE(!own.empty());
    const json with = run_with(row, &plant);
    const std::string verdict = with["verdict"];
    std::cout << plant.name << " | " << row.scenario << " | " << verdict << " | "
              << with["headline"].get<std::string>() << "\n";
    if (plant.effect == Effect::kNone) {
        BOOST_TEST(verdict == "REPRODUCED", with["headline"]);
        BOOST_TEST(own_causes(with) == own, boost::test_tools::per_element());
    }
    // A flush may be the cure of what is looked for: then no cell has anything to tell.
    BOOST_TEST((verdict == "REPRODUCED" || verdict == "INCONCLUSIVE" ||
                (verdict == "NOT REPRODUCED" && all_pass(with))),
               with["headline"]);
    for (const char* list : {"cells", "controls"}) {
        for (const json& cell : with[list]) {
            std::cout << "    " << cell["id"].get<std::string>() << " "
                      << cell["verdict"].get<std::string>() << " "
                      << cell["cause"].get<std::string>() << ": "
                      << cell["reason"].get<std::string>().substr(0, 240) << "\n";
            const std::string words = cell["cause"];
            BOOST_TEST((cell["verdict"] != "FAIL" || is_list_of_words(words)),
                       cell["id"] << " fails by '" << words << "'");
            if (cell["role"] == "matrix") {
                continue;
            }
            for (const std::string& cause : causes_of(cell)) {
                BOOST_TEST(!own.contains(cause), cell["id"] << ": " << cell["reason"]);
            }
        }
    }
    std::cout << std::flush;
}

// One test case for each row and plant.
const bool kRegistered = [] {
    using namespace boost::unit_test;
    auto* table = BOOST_TEST_SUITE("trap_table");
    for (const Plant& plant : plants()) {
        auto* suite = BOOST_TEST_SUITE(plant.name);
        for (const Row& row : kScenarios) {
            std::string name = row.scenario;
            std::ranges::replace(name, '-', '_');
            suite->add(
                make_test_case([&row, &plant] { check(row, plant); }, name, __FILE__, __LINE__));
        }
        table->add(suite);
    }
    framework::master_test_suite().add(table);
    return true;
}();

}  // namespace
