// The scenarios of the service path on the running kernel, run as a user runs them; and their symptoms
// by other causes, planted while they run, which must not be given their cause.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "tests/scenario/traps.h"

BOOST_AUTO_TEST_SUITE(service_path)

using nlohmann::json;
using namespace std::chrono_literals;

namespace {

const std::string kTimestamps = "snat-timestamps";
const std::string kStale = "stale-udp";
const std::string kBridge = "bridge-unnat";
const std::string kEndpoint = "stale-endpoint";
const std::string kTable = "table-full";
const std::string kExhaustion = "snat-exhaustion";
const std::string kPmtu = "pmtu-blackhole";
const std::string kInvalid = "invalid-rst";

void nothing_false(const json& scenario) {
    for (const std::string& claim : contradictions(scenario, {})) {
        BOOST_TEST(false, claim);
    }
}

// Two cells with a trap beside them: nothing is concluded, and in the second the other cause is named.
void trap(const std::string& id, const std::string& matrix, const std::string& control,
          const std::function<void(Planter&)>& plant, const std::string& cause) {
    const Sprung run =
        spring({.arguments = {"repro", id, "--cells", matrix + "," + control}, .plant = plant});
    BOOST_REQUIRE_MESSAGE(run.report.is_object(), run.log);
    for (const std::string& trouble : run.troubles) {
        BOOST_TEST(false, trouble);
    }
    const json& scenario = run.scenario(id);
    BOOST_TEST_MESSAGE(scenario["headline"]);
    BOOST_TEST(run.exit_status == 3);
    BOOST_TEST(scenario["verdict"] == "INCONCLUSIVE", scenario["headline"]);
    BOOST_TEST(scenario["cause"] == "");
    nothing_false(scenario);
    const std::string named = cell_named(scenario, control)["cause"];
    BOOST_TEST(named == cause, scenario["headline"]);
}

// One flow that failed once more after the cure: its packets came from the client.
void tells_of_one_flow(const json& scenario) {
    const json& proofs = scenario["proofs"];
    const auto story =
        std::ranges::find_if(proofs, [](const json& proof) { return proof["columns"][0] == "ms"; });
    BOOST_REQUIRE(story != proofs.end());
    BOOST_TEST(story->at("title").get<std::string>().find(".after-cure: ") != std::string::npos);
    BOOST_TEST(std::ranges::any_of(story->at("rows"), [](const json& row) {
        return row[1].get<std::string>().find("198.1") != std::string::npos;
    }));
}

// The whole scenario, or these cells of it, is reproduced, cured, and leaves the machine as it was.
json reproduced(const std::string& id, const std::string& cells = "") {
    const MachineState before = MachineState::read();
    const Scratch out;
    std::vector<std::string> arguments = {"repro", id, "--out", out.path(), "--json"};
    if (!cells.empty()) {
        arguments.insert(arguments.end(), {"--cells", cells});
    }
    const auto run = pathproof_run(arguments);
    BOOST_TEST_MESSAGE(run.err);
    BOOST_TEST(run.exit_status == 0);
    const json scenario = scenario_named(json::parse(run.out), id);
    BOOST_TEST(scenario["verdict"] == "REPRODUCED", scenario["headline"]);
    BOOST_TEST(scenario["cure_shown"] == true, scenario["cure"]);
    BOOST_TEST(scenario["unexplained"] == 0);
    nothing_false(scenario);
    tells_of_one_flow(scenario);
    BOOST_TEST(MachineState::read() == before);
    return scenario;
}

// Run in a namespace of the lab before the first cell.
auto command(const std::string& role, const std::string& text) {
    return [role, text](Planter& lab) {
        lab.wait_for_namespace("server", "s0");
        lab.in(role, text);
    };
}

// A rule of the DUT for SYNs, before the first cell.
auto rule(const std::string& target) {
    return command("dut", "iptables -t mangle -A FORWARD -p tcp --syn " + target);
}

// The server's, again and again from that scenario's first cell on.
auto link_that_goes_down(const std::string& scenario) {
    return [scenario](Planter& lab) {
        lab.wait_for_step(scenario + " 1/");
        while (lab.going_on()) {
            for (const char* state : {"down", "up"}) {
                (void)pathproof::process::run_program(
                    {"ip", "-n", lab.name_of("server"), "link", "set", "s0", state});
                std::this_thread::sleep_for(*state == 'd' ? 200ms : 100ms);
            }
        }
    };
}

const std::string kFew = "small-range.random-fully";
const std::string kNoNat = "control.no-nat";

}  // namespace

// Each with a control and its cure; what each cell must measure is in the tests of whole scenarios.
BOOST_AUTO_TEST_CASE(the_fewest_cells_of_each_scenario_show_it) {
    for (const auto& [id, cells] : {
             std::pair{kTimestamps, "control.no-nat,cure.timestamps-2,small-range.after-cure"},
             {kStale, "control.new-flow,cure.delete-entry,other-endpoint.after-cure"},
             {kBridge, "control.direct,cure.bridge-nf-on,bridge-nf-off.after-cure"},
             {kEndpoint,
              "control.all-alive,cure.rules-of-the-living,dead.closed.after-cure,nft.ipv6.dead."
              "closed"},
             {kTable, "control.half.answered,cure.delete-entries,answered.after-cure"},
             {kExhaustion, "control.empty-range,cure.all-ports,fill-99.after-cure"},
             {kPmtu,
              "control.wide-hop,cure.mtu,df-unset.icmp-filtered.fragments-dropped.after-cure"},
             {kInvalid, "control.no-segment,cure.be-liberal,ahead.after-cure"},
         }) {
        BOOST_TEST_CONTEXT(id) {
            (void)reproduced(id, cells);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_cell_that_takes_what_is_not_there_is_skipped_with_its_name) {
    const Scratch out;
    // In a mount namespace of its own there is no nft.
    const auto run = pathproof::process::run_program(
        {"unshare", "-m", "sh", "-c",
         "mount --bind /dev/null $(command -v nft) && exec \"$0\" repro stale-endpoint --cells "
         "'dead.closed,control.all-alive,nft.*,control.nft.*' --out " +
             out.path() + " --json",
         binary()},
        {.timeout = std::chrono::minutes(2)});
    BOOST_REQUIRE(run.has_value());
    BOOST_TEST(run->exit_status == 0, run->err);
    const json scenario = scenario_named(json::parse(run->out), kEndpoint);
    BOOST_TEST(scenario["verdict"] == "REPRODUCED", scenario["headline"]);
    for (const char* id : {"nft.dead.each-way", "nft.ipv6.dead.closed", "control.nft.all-alive"}) {
        const json& cell = cell_named(scenario, id);
        BOOST_TEST(cell["verdict"] == "SKIP", id);
        const std::string reason = cell["reason"];
        BOOST_TEST(reason.find("install nftables") != std::string::npos, reason);
    }
}

BOOST_AUTO_TEST_CASE(what_takes_ipvs_is_not_run_without_it) {
    const auto run = pathproof_run({"repro", "ipvs-reuse", "--json"});
    const json scenario = scenario_named(json::parse(run.out), "ipvs-reuse");
    const auto asked = pathproof::process::run_program({"ipvsadm", "-L", "-n"});
    BOOST_REQUIRE(asked.has_value());
    if (asked->exit_status == 0) {
        BOOST_TEST(run.exit_status == 1, run.err);
        BOOST_TEST(scenario["verdict"] == "NOT REPRODUCED", scenario["headline"]);
        return;
    }
    BOOST_TEST(run.exit_status == 3, run.err);
    BOOST_TEST(scenario["verdict"] == "NOT RUN", scenario["headline"]);
    BOOST_TEST(scenario["headline"] ==
               "Not run on this lab: this kernel has no IPVS (module ip_vs).");
    BOOST_TEST(cell_named(scenario, "reuse")["verdict"] == "SKIP");
}

BOOST_AUTO_TEST_CASE(it_is_reproduced_named_and_cured_and_the_share_is_as_computed) {
    const json scenario = reproduced(kTimestamps);
    for (const char* id : {"small-range.random-fully", "small-range.masquerade",
                           "small-range.after-cure", "full-range.random-fully"}) {
        const json& cell = cell_named(scenario, id);
        BOOST_TEST(cell["verdict"] == "FAIL", id);
        BOOST_TEST(cell["cause"] == "stale-timestamp", id);
        const double refused = measure(cell, "refused_by_timestamp");
        BOOST_TEST(refused > 0, id);
        // The counters know of segments out of order too, and of answers that a busy machine delays.
        BOOST_TEST(measure(cell, "paws_timewait") >= refused, id);
        BOOST_TEST(measure(cell, "syn_retransmits") >= refused, id);
        BOOST_TEST(measure(cell, "client_resets") >= refused, id);
        BOOST_TEST(measure(cell, "named") == refused, id);
        BOOST_TEST(measure(cell, "by_timestamp") == measure(cell, "slow"), id);
    }
    const json& full = cell_named(scenario, "full-range.random-fully");
    BOOST_TEST(std::abs(measure(full, "drawn_met") - measure(full, "expected_met")) <
               0.2 * measure(full, "expected_met") + 20);
    for (const char* id : {"cure.timestamps-2", "cure.full-range.timestamps-2", "control.no-nat",
                           "control.full-range.masquerade"}) {
        const json& cell = cell_named(scenario, id);
        BOOST_TEST(cell["verdict"] == "PASS", id);
        BOOST_TEST(measure(cell, "met_time_wait") > 0, id);
        BOOST_TEST(measure(cell, "refused_by_timestamp") == 0, id);
    }
    BOOST_TEST(cell_named(scenario, "control.client-closes-first")["verdict"] == "PASS");
}

BOOST_AUTO_TEST_CASE(random_loss_of_syns_has_another_cause) {
    trap(kTimestamps, kFew, kNoNat, rule("-m statistic --mode random --probability 0.1 -j DROP"),
         "syn-lost");
}

BOOST_AUTO_TEST_CASE(a_filter_that_resets_has_another_cause) {
    trap(
        kTimestamps, kFew, kNoNat,
        [](Planter& lab) {
            lab.wait_for_namespace("server", "s0");
            lab.in("dut",
                   "iptables -A FORWARD -p tcp --syn -m statistic --mode nth --every 9 --packet 0 "
                   "-j REJECT --reject-with tcp-reset");
        },
        "syn-lost");
}

BOOST_AUTO_TEST_CASE(a_server_that_does_not_accept_has_another_cause) {
    trap(
        kTimestamps, kFew, kNoNat,
        [](Planter& lab) {
            lab.wait_for_namespace("server", "s0");
            lab.in("server", "sysctl -qw net.core.somaxconn=2");
            // Stopped for longer than a SYN waits, again and again: connects fall into it in each cell.
            while (lab.going_on()) {
                for (const char* signal : {"STOP", "CONT"}) {
                    (void)pathproof::process::run_program({"sh", "-c",
                                                           std::string("kill -") + signal +
                                                               " $(ip netns pids " +
                                                               lab.name_of("server") + ")"});
                    std::this_thread::sleep_for(*signal == 'S' ? 1200ms : 500ms);
                }
            }
        },
        "syn-unanswered");
}

BOOST_AUTO_TEST_CASE(a_udp_flow_that_keeps_a_gone_endpoint_is_found_named_and_cured) {
    const json scenario = reproduced(kStale);
    for (const char* id : {"other-endpoint", "no-endpoint", "other-endpoint.after-cure"}) {
        const json& cell = cell_named(scenario, id);
        BOOST_TEST(cell["cause"] == "stale-entry", id);
        BOOST_TEST(measure(cell, "to_gone") == measure(cell, "sent"), id);
        BOOST_TEST(measure(cell, "entry_packets") >= measure(cell, "to_gone"), id);
        BOOST_TEST(measure(cell, "rule_hits") == 0, id);
    }
    BOOST_TEST(measure(cell_named(scenario, "control.no-endpoint.new-flow"), "rejected") ==
               measure(cell_named(scenario, "control.no-endpoint.new-flow"), "sent"));
    BOOST_TEST(measure(cell_named(scenario, "cure.delete-entry"), "deleted") == 1);
}

// The proxy did not change the rules: another one sends all flows to the endpoint that is gone.
BOOST_AUTO_TEST_CASE(rules_that_still_name_the_endpoint_have_another_cause) {
    trap(
        kStale, "other-endpoint", "control.new-flow",
        [](Planter& lab) {
            lab.wait_for_namespace("server", "s0");
            lab.in("dut",
                   "nft 'add table ip trap; add chain ip trap to_one { type nat hook prerouting "
                   "priority -110; }; add rule ip trap to_one ip daddr 198.51.100.10 udp dport 53 "
                   "dnat to 203.0.113.2'");
        },
        "stale-rules");
}

BOOST_AUTO_TEST_CASE(lost_datagrams_have_another_cause) {
    trap(
        kStale, "other-endpoint", "control.new-flow",
        [](Planter& lab) {
            lab.wait_for_namespace("server", "s0");
            lab.in("dut",
                   "iptables -t mangle -A PREROUTING -p udp -d 198.51.100.10 --sport 41000:41999 "
                   "-j DROP");
        },
        "lost");
}

BOOST_AUTO_TEST_CASE(an_endpoint_that_is_not_reached_at_all_is_none_that_is_gone) {
    trap(
        kStale, "other-endpoint", "control.new-flow",
        [](Planter& lab) {
            lab.wait_for_namespace("server", "s0");
            lab.in("dut", "iptables -t mangle -A POSTROUTING -p udp -d 203.0.113.2 -j DROP");
        },
        "");
}

BOOST_AUTO_TEST_CASE(answers_that_a_bridge_carries_untranslated_are_found_named_and_cured) {
    const json scenario = reproduced(kBridge);
    for (const char* id : {"bridge-nf-off", "bridge-nf-off.after-cure"}) {
        const json& cell = cell_named(scenario, id);
        BOOST_TEST(cell["cause"] == "untranslated-answer", id);
        BOOST_TEST(measure(cell, "failed") == measure(cell, "lookups"), id);
        BOOST_TEST(measure(cell, "from_backend") >= measure(cell, "failed"), id);
        BOOST_TEST(measure(cell, "unreplied") == measure(cell, "failed"), id);
    }
    for (const char* id :
         {"control.direct", "control.other-host", "cure.bridge-nf-on", "cure.masquerade"}) {
        BOOST_TEST(cell_named(scenario, id)["verdict"] == "PASS", id);
        BOOST_TEST(measure(cell_named(scenario, id), "from_backend") == 0, id);
    }
}

// Each makes its lab anew, the neighbour on the bridge included.
BOOST_AUTO_TEST_CASE(scenarios_of_one_path_run_one_after_the_other) {
    const Scratch out;
    const auto run = pathproof_run({"qualify", "--only", kBridge + "," + kStale, "--cells",
                                    kBridge + "/control.direct," + kStale + "/control.new-flow",
                                    "--repeat", "2", "--out", out.path() + "/report"});
    const json report = json::parse(std::ifstream(out.path() + "/report/report.json"));
    for (const auto& [id, control] :
         {std::pair{kBridge, "control.direct"}, {kStale, "control.new-flow"}}) {
        const json scenario = scenario_named(report, id);
        BOOST_TEST(cell_named(scenario, control)["verdict"] == "PASS", scenario["headline"]);
        BOOST_TEST(scenario.dump().find("exists already") == std::string::npos, run.out);
    }
}

BOOST_AUTO_TEST_CASE(a_program_that_is_deleted_while_it_runs_comes_to_its_end) {
    const Scratch folder;
    const std::string copy = folder.path() + "/pathproof";
    std::filesystem::copy_file(std::getenv("PATHPROOF"), copy);
    auto run = std::async(std::launch::async, [&] {
        return pathproof::process::run_program({copy, "repro", kBridge},
                                               {.timeout = std::chrono::minutes(2)});
    });
    // The agents of its last cell are started later.
    std::this_thread::sleep_for(1s);
    BOOST_TEST(std::filesystem::remove(copy));
    const auto ran = run.get();
    BOOST_REQUIRE(ran.has_value());
    BOOST_TEST(ran->exit_status == 0, ran->err);
}

BOOST_AUTO_TEST_CASE(answers_that_conntrack_is_kept_from_have_another_cause) {
    trap(kBridge, "bridge-nf-off", "control.other-host",
         command("dut", "iptables -t raw -A PREROUTING -p udp --sport 53 -j NOTRACK"),
         "untranslated-answer");
}

BOOST_AUTO_TEST_CASE(answers_that_tc_redirects_past_the_bridge_have_another_cause) {
    trap(
        kBridge, "control.other-host", "bridge-nf-off",
        [](Planter& lab) {
            lab.wait_for_namespace("dut", "d2");
            lab.in("dut",
                   "tc qdisc add dev d2 clsact && tc filter add dev d2 ingress protocol ip u32 "
                   "match ip sport 53 0xffff action mirred egress redirect dev d0");
        },
        "past-the-bridge");
}

BOOST_AUTO_TEST_CASE(answers_that_are_dropped_have_another_cause) {
    trap(kBridge, "bridge-nf-off", "control.other-host",
         command("dut", "iptables -t mangle -A FORWARD -p udp --sport 53 -j DROP"), "no-answer");
}

BOOST_AUTO_TEST_CASE(answers_of_a_server_with_another_address_have_another_cause) {
    trap(kBridge, "bridge-nf-off", "control.other-host",
         command("server",
                 "nft 'add table ip trap; add chain ip trap other { type filter hook postrouting "
                 "priority 300; }; add rule ip trap other udp sport 53 ip saddr set 203.0.113.99'"),
         "");
}

BOOST_AUTO_TEST_CASE(dead_endpoints_that_the_rules_name_are_found_named_and_cured) {
    const json scenario = reproduced(kEndpoint);
    for (const char* id : {"dead.closed", "dead.each-way", "dead.closed.after-cure",
                           "nft.dead.each-way", "ipv6.dead.each-way", "nft.ipv6.dead.closed"}) {
        const json& cell = cell_named(scenario, id);
        BOOST_TEST(cell["cause"] == "stale-endpoint", id);
        BOOST_TEST(measure(cell, "failed") >= measure(cell, "band_low"), id);
        BOOST_TEST(measure(cell, "failed") <= measure(cell, "band_high"), id);
        BOOST_TEST(
            measure(cell, "by_entry") + measure(cell, "by_counter") == measure(cell, "failed"), id);
        if (std::string(id).ends_with("each-way")) {
            for (const char* how :
                 {"refused", "timed_out", "unreachable", "stranger", "by_entry", "by_counter"}) {
                const bool rejected = !std::string(id).starts_with("ipv6.");
                BOOST_TEST(
                    (measure(cell, how) > 0 || (how == std::string("by_counter") && !rejected)),
                    id << ": " << how);
            }
        }
    }
    for (const char* id : {"control.all-alive", "cure.rules-of-the-living", "control.nft.all-alive",
                           "cure.nft.rules-of-the-living", "control.ipv6.all-alive"}) {
        BOOST_TEST(cell_named(scenario, id)["verdict"] == "PASS", id);
    }
}

BOOST_AUTO_TEST_CASE(an_endpoint_that_serves_and_is_not_reached_has_another_cause) {
    trap(kEndpoint, "dead.closed", "control.all-alive",
         command("server", "iptables -t raw -A PREROUTING -p tcp --syn -d 203.0.113.16 -j DROP"),
         "serving-endpoint");
}

// No packet comes to the endpoints that should be dead: the DUT rejects it.
BOOST_AUTO_TEST_CASE(endpoints_that_the_dut_rejects_by_another_rule_are_not_dead) {
    const Sprung run =
        spring({.arguments = {"repro", kEndpoint, "--cells", "dead.closed,control.all-alive"},
                .plant = command("dut",
                                 "nft 'add table ip trap; add chain ip trap front { type filter "
                                 "hook forward priority 0; }; add rule ip trap front ip daddr "
                                 "203.0.113.48/28 tcp dport 8080 reject with tcp reset'")});
    BOOST_REQUIRE_MESSAGE(run.report.is_object(), run.log);
    const json& scenario = run.scenario(kEndpoint);
    BOOST_TEST(run.exit_status == 3);
    BOOST_TEST(scenario["verdict"] == "INCONCLUSIVE", scenario["headline"]);
    BOOST_TEST(cell_named(scenario, "dead.closed")["cause"] == "rule-drop", scenario["headline"]);
    nothing_false(scenario);
}

// Half of the flows: those whose source port is a multiple of four.
BOOST_AUTO_TEST_CASE(connections_that_a_filter_stops_before_the_rules_have_another_cause) {
    trap(kEndpoint, "dead.closed", "control.all-alive",
         command("dut",
                 "iptables -t raw -A PREROUTING -p tcp -d 198.51.100.10 -m u32 --u32 "
                 "'0>>22&0x3C@0>>16&3=0' -j DROP"),
         "");
}

// Another program's rule, before those of the proxy, sends every connection to one dead endpoint.
BOOST_AUTO_TEST_CASE(rules_of_another_that_name_the_dead_alone_have_another_cause) {
    trap(kEndpoint, "dead.closed", "control.all-alive",
         command("dut",
                 "nft 'add table ip trap; add chain ip trap to_one { type nat hook prerouting "
                 "priority -110; }; add rule ip trap to_one ip daddr 198.51.100.10 tcp dport 80 "
                 "dnat to 203.0.113.48:8080'"),
         "");
}

BOOST_AUTO_TEST_CASE(a_full_table_is_found_named_and_cured) {
    const json scenario = reproduced(kTable);
    const json& drops = cell_named(scenario, "answered");
    BOOST_TEST(drops["cause"] == "table-full");
    BOOST_TEST(measure(drops, "entries") == measure(drops, "maximum"));
    BOOST_TEST(measure(drops, "failed") == measure(drops, "flows"));
    BOOST_TEST(measure(drops, "drop") - measure(drops, "insert_failed") >= measure(drops, "lost"));
    const json& evicts = cell_named(scenario, "unanswered");
    BOOST_TEST(evicts["cause"] == "early-drop");
    BOOST_TEST(measure(evicts, "failed") == 0);
    BOOST_TEST(measure(evicts, "early_drop") > 0);
    // Each is named, but for the few that are of the new flows themselves. Garbage collection may take more of them.
    BOOST_TEST(10 * measure(evicts, "evicted") >= 9 * measure(evicts, "early_drop"));
    for (const char* id : {"control.half.unanswered", "control.half.answered"}) {
        BOOST_TEST(cell_named(scenario, id)["verdict"] == "PASS", id);
        BOOST_TEST(measure(cell_named(scenario, id), "early_drop") == 0, id);
    }
}

BOOST_AUTO_TEST_CASE(new_flows_that_a_rule_drops_have_another_cause) {
    trap(kTable, "unanswered", "control.half.unanswered",
         command(
             "dut",
             "iptables -t mangle -A FORWARD -m statistic --mode nth --every 3 --packet 0 -j DROP"),
         "rule-drop");
}

// The table is full, and the new flows end before they come to it.
BOOST_AUTO_TEST_CASE(new_flows_that_end_before_a_full_table_have_another_cause) {
    const Sprung run = spring(
        {.arguments = {"repro", kTable, "--cells", "answered,control.half.answered"},
         .plant = [](Planter& lab) {
             lab.wait_for_step("answered");
             lab.in("dut",
                    "nft 'add table netdev trap; add chain netdev trap front { type filter hook "
                    "ingress device d0 priority 0; }; add rule netdev trap front meta l4proto udp "
                    "th dport 9000 drop; add rule netdev trap front meta l4proto tcp th dport "
                    "9001 drop'");
         }});
    BOOST_REQUIRE_MESSAGE(run.report.is_object(), run.log);
    for (const std::string& trouble : run.troubles) {
        BOOST_TEST(false, trouble);
    }
    const json& scenario = run.scenario(kTable);
    BOOST_TEST(run.exit_status == 3);
    BOOST_TEST(scenario["verdict"] == "INCONCLUSIVE", scenario["headline"]);
    BOOST_TEST(cell_named(scenario, "answered")["cause"] == "rule-drop", scenario["headline"]);
    nothing_false(scenario);
}

// The packets are dropped behind the last place that can be watched: each came out of the DUT.
BOOST_AUTO_TEST_CASE(new_flows_that_the_server_does_not_take_have_no_cause_of_the_table) {
    trap(kTable, "unanswered", "control.half.unanswered",
         command("server", "iptables -t raw -A PREROUTING -p tcp --syn -j DROP"), "");
}

BOOST_AUTO_TEST_CASE(new_flows_over_a_link_that_is_down_have_another_cause) {
    trap(kTable, "unanswered", "control.half.unanswered", link_that_goes_down(kTable), "link-down");
}

BOOST_AUTO_TEST_CASE(a_search_for_ports_that_is_given_up_is_found_named_and_cured) {
    const json scenario = reproduced(kExhaustion);
    for (const char* id : {"fill-99", "fill-99.after-cure"}) {
        const json& cell = cell_named(scenario, id);
        BOOST_TEST(cell["cause"] == "port-search", id);
        BOOST_TEST(measure(cell, "failed") == measure(cell, "insert_failed"), id);
        BOOST_TEST(measure(cell, "fewest_free") > 0, id);
        const double computed = measure(cell, "expected");
        BOOST_TEST(std::abs(measure(cell, "failed") - computed) < 5 * std::sqrt(computed) + 5, id);
    }
    for (const char* id :
         {"fill-50", "control.empty-range", "control.all-ports", "cure.all-ports"}) {
        BOOST_TEST(cell_named(scenario, id)["verdict"] == "PASS", id);
    }
}

BOOST_AUTO_TEST_CASE(flows_that_a_rule_drops_have_another_cause_than_ports) {
    trap(kExhaustion, "fill-99", "control.empty-range",
         command(
             "dut",
             "iptables -t mangle -A FORWARD -m statistic --mode nth --every 3 --packet 0 -j DROP"),
         "rule-drop");
}

BOOST_AUTO_TEST_CASE(flows_that_are_not_tracked_have_another_cause_than_ports) {
    trap(kExhaustion, "fill-99", "control.empty-range",
         command("dut", "iptables -t raw -A PREROUTING -p udp -j NOTRACK"), "");
}

BOOST_AUTO_TEST_CASE(flows_over_a_link_that_goes_down_have_another_cause_than_ports) {
    trap(kExhaustion, "fill-99", "control.empty-range", link_that_goes_down(kExhaustion),
         "link-down");
}

BOOST_AUTO_TEST_CASE(a_hop_that_swallows_large_packets_is_found_named_and_cured) {
    const json scenario = reproduced(kPmtu);
    for (const auto& [id, cause] :
         {std::pair{"df-unset.icmp-passes.fragments-dropped", "fragments-dropped"},
          {"df-unset.icmp-filtered.fragments-dropped", "fragments-dropped"},
          {"df-set.icmp-filtered.fragments-pass", "icmp-filtered"},
          {"df-set.icmp-filtered.fragments-dropped", "icmp-filtered"}}) {
        const json& cell = cell_named(scenario, id);
        BOOST_TEST(cell["cause"] == cause, id);
        BOOST_TEST(measure(cell, "passes") == 1350, id);
        BOOST_TEST(measure(cell, "stops") == 1351, id);
    }
    for (const char* id : {"control.wide-hop", "cure.mtu", "cure.mss-clamp",
                           "cure.df-set.icmp-passes.fragments-dropped"}) {
        BOOST_TEST(cell_named(scenario, id)["verdict"] == "PASS", id);
    }
}

BOOST_AUTO_TEST_CASE(large_packets_that_a_rule_drops_have_another_cause) {
    trap(kPmtu, "df-set.icmp-filtered.fragments-pass", "control.wide-hop",
         command("dut", "iptables -t mangle -A FORWARD -m length --length 1200: -j DROP"),
         "rule-drop");
}

// Ping of any size passes.
BOOST_AUTO_TEST_CASE(a_transfer_that_the_server_does_not_take_is_not_the_hop) {
    trap(kPmtu, "df-set.icmp-filtered.fragments-pass", "control.wide-hop",
         command("server", "iptables -t filter -A INPUT -p tcp -m length --length 300: -j DROP"),
         "lost");
}

BOOST_AUTO_TEST_CASE(a_hop_that_loses_most_packets_is_not_too_small) {
    trap(kPmtu, "df-set.icmp-filtered.fragments-pass", "control.wide-hop",
         command(
             "dut",
             "iptables -t mangle -A FORWARD -m statistic --mode random --probability 0.8 -j DROP"),
         "rule-drop");
}

BOOST_AUTO_TEST_CASE(segments_that_are_forwarded_untranslated_are_found_named_and_cured) {
    const json scenario = reproduced(kInvalid);
    for (const char* id : {"ahead", "ahead.after-cure"}) {
        const json& cell = cell_named(scenario, id);
        BOOST_TEST(cell["cause"] == kInvalid, id);
        BOOST_TEST(measure(cell, "connects") == 8, id);
        for (const char* each : {"broken", "reset", "segments", "untranslated", "by_segment"}) {
            BOOST_TEST(measure(cell, each) == 8, id << ": " << each);
        }
        BOOST_TEST(measure(cell, "invalid") >= 8, id);
        BOOST_TEST(measure(cell, "answered") >= 8, id);
    }
    for (const char* id : {"control.no-segment", "control.in-window", "cure.be-liberal",
                           "cure.drop-invalid", "control.one-way", "be-liberal.one-way"}) {
        const json& cell = cell_named(scenario, id);
        BOOST_TEST(cell["verdict"] == "PASS", id);
        BOOST_TEST(measure(cell, "broken") == 0, id);
        BOOST_TEST(measure(cell, "untranslated") == 0, id);
    }
    BOOST_TEST(measure(cell_named(scenario, "cure.drop-invalid"), "invalid") == 8);
    const json& breaks = cell_named(scenario, "drop-invalid.one-way");
    BOOST_TEST(breaks["role"] == "demonstration");
    BOOST_TEST(measure(breaks, "broken") == 8);
    const std::string cure = scenario["cure"];
    BOOST_TEST(cure.find("8 of 8 broke with it") != std::string::npos, cure);
}

BOOST_AUTO_TEST_CASE(resets_of_a_server_have_another_cause) {
    trap(kInvalid, "ahead", "control.no-segment",
         command("server",
                 "iptables -A INPUT -p tcp --dport 8080 --tcp-flags PSH PSH -j REJECT "
                 "--reject-with tcp-reset"),
         "server-reset");
}

BOOST_AUTO_TEST_CASE(questions_that_a_filter_drops_have_another_cause) {
    trap(
        kInvalid, "ahead", "control.no-segment",
        command("dut", "iptables -t mangle -A PREROUTING -i d0 -p tcp --tcp-flags PSH PSH -j DROP"),
        "");
}

BOOST_AUTO_TEST_CASE(segments_of_flows_that_somebody_flushes_have_another_cause) {
    trap(
        kInvalid, "ahead", "control.in-window",
        [](Planter& lab) {
            lab.wait_for_namespace("server", "s0");
            while (lab.going_on()) {
                lab.try_in("dut", "conntrack -F");
                std::this_thread::sleep_for(20ms);
            }
        },
        "lost-entry");
}

BOOST_AUTO_TEST_SUITE_END()
