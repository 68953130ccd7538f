// Conclusions of stale-udp from plain values.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "harness/scenario/service_path/stale_udp.h"
#include "tests/scenario/path_conclusions.h"

BOOST_AUTO_TEST_SUITE(stale_udp_conclude)

using namespace pathproof;
using namespace pathproof::scenario;
using namespace conclusions;
using Role = verdict::Cell::Role;

namespace {

void keep_old_entry(StaleUdpValues& seen, std::uint64_t datagrams) {
    seen.to_gone = datagrams;
    seen.to_new = 0;
    seen.rejected = seen.rule_hits = 0;
    seen.entry = true;
    seen.entry_packets = datagrams;
    seen.entry_text = "udp 29 src=198.18.0.2 dst=198.51.100.10";
}

void keep_ipvs_connection(StaleUdpValues& seen) {
    seen.to_new = 0;
    seen.ipvs_to_gone = true;
    seen.ipvs_connection = "UDP 04:57 UDP 198.18.0.2:40000 198.51.100.10:53 203.0.113.2:53";
}

// The machine this was written on, and a guest whose kernel has IPVS.
StaleUdpValues as_usual(const StaleUdpCell& what) {
    StaleUdpValues seen{.sent_before = 5, .reached_before = 5, .sent = 15, .rule_hits = 1};
    if (what.by_ipvs()) {
        seen.to_new = what.expires_nodest ? 14 : 15;
        if (what.role == Role::kMatrix) {
            keep_ipvs_connection(seen);
        }
        return seen;
    }
    if (what.role == Role::kMatrix) {
        keep_old_entry(seen, 15);
    } else if (what.has_endpoint()) {
        seen.to_new = 15;
    } else {
        seen.rejected = seen.rule_hits = 15;
    }
    if (what.then == AfterChange::kForgets) {
        seen.deleted = 1;
        seen.bystander = true;
        seen.cure_command = "conntrack -D -p udp --orig-dst 198.51.100.10";
    }
    return seen;
}

verdict::ScenarioResult with(const std::string& id,
                             const std::function<void(StaleUdpValues&)>& change) {
    std::vector<MeasuredStaleUdpCell> cells;
    for (const StaleUdpCell& what : stale_udp_plan()) {
        cells.push_back({.what = what, .seen = as_usual(what)});
        if (what.id == id || id == "*") {
            change(cells.back().seen);
        }
    }
    return conclude(cells);
}

const auto kNothing = [](StaleUdpValues&) {};

}  // namespace

BOOST_AUTO_TEST_CASE(what_this_kernel_shows_is_reproduced_named_and_cured) {
    const auto result = with("", kNothing);
    BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced), result.headline);
    BOOST_TEST(result.cure_shown);
    BOOST_TEST(contains(result.headline, "no-endpoint: 15 of 15"), result.headline);
    BOOST_TEST(contains(result.headline, "REJECT counted none"), result.headline);
    BOOST_TEST(contains(result.cause, "45 packets counted"), result.cause);
    BOOST_TEST(contains(result.cure, "`conntrack -D -p udp --orig-dst 198.51.100.10`"),
               result.cure);
    BOOST_TEST(cell(result, "other-endpoint").cause == "stale-entry");
    BOOST_TEST(result.before_cell == "other-endpoint");
    BOOST_TEST(result.after_cell == "cure.delete-entry");
    BOOST_TEST(result.controls.size() == 5U);
    BOOST_TEST(contains(result.headline,
                        "ipvs.other-endpoint: 15 of 15 datagrams after the change came "
                        "out nowhere"),
               result.headline);
    BOOST_TEST(cell(result, "ipvs.other-endpoint").cause == "ipvs-nodest");
    BOOST_TEST(
        contains(result.cause, "expire_nodest_conn=0 it drops what comes for it: 15 datagrams"),
        result.cause);
    BOOST_TEST(contains(result.cure, "for IPVS `sysctl -w net.ipv4.vs.expire_nodest_conn=1`"),
               result.cure);
    BOOST_TEST(contains(result.cure, "then 14 of 15 datagrams reached"), result.cure);
}

BOOST_AUTO_TEST_CASE(a_kernel_without_ipvs_says_nothing_of_it) {
    std::vector<MeasuredStaleUdpCell> cells;
    std::vector<MeasuredStaleUdpCell> only_ipvs;
    for (const StaleUdpCell& what : stale_udp_plan()) {
        cells.push_back({.what = what, .seen = as_usual(what)});
        if (what.by_ipvs()) {
            only_ipvs.push_back(cells.back());
            cells.back().seen = {.lacks = "this kernel has no IPVS (module ip_vs)"};
        }
    }
    const auto result = conclude(cells);
    BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced), result.headline);
    BOOST_TEST(result.cure_shown);
    BOOST_TEST(!contains(result.headline + result.cause + result.cure, "IPVS"), result.cause);
    BOOST_TEST((cell(result, "ipvs.other-endpoint").verdict == verdict::CellVerdict::kSkip));
    const auto alone = conclude(only_ipvs);
    BOOST_TEST(!contains(alone.headline + alone.cause, "DNAT"), alone.cause);
    BOOST_TEST(alone.cure_shown);
    BOOST_TEST(alone.after_cell == "cure.ipvs.expire-nodest");
}

// Traps: IPVS sends the flow on, and something else drops it; or nothing tells where it goes.
BOOST_AUTO_TEST_CASE(datagrams_of_ipvs_that_others_drop_are_not_given_this_cause) {
    for (const char* connection :
         {"", "UDP 04:57 UDP 198.18.0.2:40000 198.51.100.10:53 203.0.113.3:53"}) {
        const auto result = with("ipvs.other-endpoint", [&](StaleUdpValues& seen) {
            seen.ipvs_to_gone = false;
            seen.ipvs_connection = connection;
        });
        inconclusive(result, "came out nowhere");
        BOOST_TEST(cell(result, "ipvs.other-endpoint").cause == "lost");
    }
    const auto some = with("ipvs.other-endpoint", [](StaleUdpValues& seen) { seen.to_new = 4; });
    BOOST_TEST(cell(some, "ipvs.other-endpoint").cause == "lost");
    const auto cure =
        with("cure.ipvs.expire-nodest", [](StaleUdpValues& seen) { seen.to_new = 9; });
    BOOST_TEST(!cure.cure_shown);
    BOOST_TEST(contains(cure.cure, "not shown: "), cure.cure);
    const auto gone = with("ipvs.other-endpoint.after-cure", [](StaleUdpValues& seen) {
        seen = {.sent_before = 5, .reached_before = 5, .sent = 15, .to_new = 15};
    });
    BOOST_TEST(!gone.cure_shown);
    inconclusive(with("control.ipvs.new-flow", keep_ipvs_connection), "control.ipvs.new-flow");
}

BOOST_AUTO_TEST_CASE(a_control_that_shows_it_proves_nothing) {
    for (const char* id : {"control.new-flow", "control.no-endpoint.new-flow", "control.silence"}) {
        inconclusive(with(id, [](StaleUdpValues& seen) { keep_old_entry(seen, 15); }), id);
    }
}

BOOST_AUTO_TEST_CASE(a_cure_that_fails_is_not_shown) {
    for (const auto& [why, change] :
         std::vector<std::pair<std::string, std::function<void(StaleUdpValues&)>>>{
             {"went to the endpoint that is gone",
              [](StaleUdpValues& seen) { keep_old_entry(seen, 15); }},
             {"no entry to delete", [](StaleUdpValues& seen) { seen.deleted = 0; }},
             {"another flow was deleted", [](StaleUdpValues& seen) { seen.bystander = false; }},
             {"came out nowhere", [](StaleUdpValues& seen) { seen.to_new = 3; }}}) {
        const auto result = with("cure.delete-entry", change);
        BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced), why);
        BOOST_TEST(!result.cure_shown, why);
        BOOST_TEST(contains(result.cure, why), result.cure);
    }
    const auto gone = with("other-endpoint.after-cure", [](StaleUdpValues& seen) {
        seen = {.sent_before = 5, .reached_before = 5, .sent = 15, .to_new = 15};
    });
    BOOST_TEST(!gone.cure_shown);
    BOOST_TEST(contains(gone.cure, "was not seen again"), gone.cure);
}

BOOST_AUTO_TEST_CASE(where_flows_follow_the_rules_nothing_is_reproduced) {
    std::vector<MeasuredStaleUdpCell> cells;
    for (const StaleUdpCell& what : stale_udp_plan()) {
        StaleUdpCell harmless = what;
        harmless.role = Role::kControl;
        cells.push_back({.what = what, .seen = as_usual(harmless)});
    }
    const auto result = conclude(cells);
    BOOST_TEST((result.verdict == ScenarioVerdict::kNotReproduced), result.headline);
    BOOST_TEST(result.cause.empty());
    BOOST_TEST(result.cure.empty());
}

// Traps: the same symptom by another cause.
BOOST_AUTO_TEST_CASE(rules_that_still_name_the_endpoint_are_not_given_this_cause) {
    const auto result = with("*", [](StaleUdpValues& seen) {
        keep_old_entry(seen, 15);
        seen.ipvs_to_gone = false;
        seen.entry_is_new = true;
    });
    inconclusive(result, "its entry is younger than the change");
    BOOST_TEST(cell(result, "other-endpoint").cause == "stale-rules");
}

BOOST_AUTO_TEST_CASE(datagrams_that_are_dropped_are_not_given_this_cause) {
    for (const std::uint64_t arrived : {0U, 9U}) {
        const auto result = with("other-endpoint", [&](StaleUdpValues& seen) {
            seen.to_gone = 0;
            seen.to_new = arrived;
        });
        inconclusive(result, "came out nowhere");
        BOOST_TEST(cell(result, "other-endpoint").cause == "lost");
    }
    inconclusive(with("no-endpoint", [](StaleUdpValues& seen) { seen.reached_before = 3; }),
                 "before the change 3 of 5 datagrams");
}

BOOST_AUTO_TEST_CASE(datagrams_that_no_entry_counts_are_unexplained) {
    for (const auto& change : std::vector<std::function<void(StaleUdpValues&)>>{
             [](StaleUdpValues& seen) { seen.entry = false; },
             [](StaleUdpValues& seen) { seen.entry_packets = 14; }}) {
        const auto result = with("other-endpoint", change);
        inconclusive(result, "no entry of conntrack tells why");
        BOOST_TEST(result.unexplained == 15U);
    }
}

BOOST_AUTO_TEST_CASE(an_agent_that_died_and_nothing_executed_conclude_nothing) {
    inconclusive(with("control.silence",
                      [](StaleUdpValues& seen) { seen.objections = {"ended by signal 9"}; }),
                 "ended by signal 9");
    inconclusive(with("cure.delete-entry",
                      [](StaleUdpValues& seen) { seen.objections = {"conntrack not found"}; }),
                 "conntrack not found");
    inconclusive(conclude(std::vector<MeasuredStaleUdpCell>{}), "nothing was measured");
    inconclusive(conclude({{.what = stale_udp_plan()[0]}}), "no datagram was sent before");
    inconclusive(conclude({{.what = stale_udp_plan()[2], .seen = as_usual(stale_udp_plan()[2])}}),
                 "no cell without a cure was run");
}

BOOST_AUTO_TEST_CASE(no_sentence_says_what_no_value_bears_out) {
    ten_thousand({{"went to the endpoint that is gone", {"to_gone"}},
                  {"entries after the change", {"entry_packets"}},
                  {"the entry of another flow stayed", {"deleted"}},
                  {"came out nowhere", {"lost"}},
                  {"IPVS keeps", {"ipvs_to_gone"}},
                  {"no entry of conntrack tells why", {"unexplained"}}},
                 [](Dice& dice) {
                     std::vector<MeasuredStaleUdpCell> cells;
                     for (const StaleUdpCell& what : stale_udp_plan()) {
                         StaleUdpValues seen = as_usual(what);
                         if (dice.one_in(12)) {
                             seen.sent_before = dice.up_to(3);
                             seen.reached_before = std::min(seen.sent_before, dice.up_to(3));
                         }
                         if (dice.one_in(12)) {
                             seen.sent = dice.up_to(15);
                             seen.to_gone = dice.up_to(seen.sent);
                             (what.has_endpoint() ? seen.to_new : seen.rejected) =
                                 dice.up_to(seen.sent - seen.to_gone);
                             seen.entry = !dice.one_in(3);
                             seen.entry_is_new = dice.one_in(3);
                             seen.entry_packets = dice.up_to(30);
                             seen.entry_text = seen.entry ? "udp 29 src=198.18.0.2" : "";
                         }
                         if (dice.one_in(15)) {
                             seen.ipvs_to_gone = dice.one_in(2);
                         }
                         if (dice.one_in(5)) {
                             seen.deleted = dice.up_to(2);
                             seen.bystander = dice.one_in(2);
                         }
                         if (dice.one_in(30)) {
                             seen.objections = {"ended by signal 9"};
                         }
                         if (!dice.one_in(9)) {
                             cells.push_back({.what = what, .seen = seen});
                         }
                     }
                     return conclude(cells);
                 });
}

BOOST_AUTO_TEST_SUITE_END()
