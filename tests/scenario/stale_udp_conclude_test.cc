// Conclusions of stale-udp from plain values.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "harness/scenario/service_path/stale_udp.h"
#include "tests/scenario/conclusion_table.h"

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

void follows_the_rules(const StaleUdpCell& what, StaleUdpValues& seen) {
    StaleUdpCell harmless = what;
    harmless.role = Role::kControl;
    seen = as_usual(harmless);
}

void goes_to_the_new_one(StaleUdpValues& seen) {
    seen = {.sent_before = 5, .reached_before = 5, .sent = 15, .to_new = 15};
}

// Gives IPVS no connection, or one to another endpoint.
auto ipvs_has(const char* connection) {
    return [connection](StaleUdpValues& seen) {
        seen.ipvs_to_gone = false;
        seen.ipvs_connection = connection;
    };
}

auto arrive(std::uint64_t datagrams) {
    return [datagrams](StaleUdpValues& seen) {
        seen.to_gone = 0;
        seen.to_new = datagrams;
    };
}

auto objection(const char* text) {
    return [text](StaleUdpValues& seen) { seen.objections = {text}; };
}

void keep_all(StaleUdpValues& seen) {
    keep_old_entry(seen, 15);
}

using Rows = std::vector<Row<StaleUdpCell, StaleUdpValues>>;
constexpr const char* kIpvs = "*ipvs*";

}  // namespace

const Rows kShown = {
    {.name = "what_this_kernel_shows_is_reproduced_named_and_cured",
     .concluded =
         {.verdict = ScenarioVerdict::kReproduced,
          .says = {{"headline", "no-endpoint: 15 of 15"},
                   {"headline", "REJECT counted none"},
                   {"headline",
                    "ipvs.other-endpoint: 15 of 15 datagrams after the change came out "
                    "nowhere"},
                   {"cause", "45 packets counted"},
                   {"cause", "expire_nodest_conn=0 it drops what comes for it: 15 datagrams"},
                   {"cure", "`conntrack -D -p udp --orig-dst 198.51.100.10`"},
                   {"cure", "for IPVS `sysctl -w net.ipv4.vs.expire_nodest_conn=1`"},
                   {"cure", "then 14 of 15 datagrams reached"}},
          .causes = {{"other-endpoint", "stale-entry"}, {"ipvs.other-endpoint", "ipvs-nodest"}},
          .cured = true,
          .before = "other-endpoint",
          .after = "cure.delete-entry",
          .controls = 5}},
    {.name = "a_kernel_without_ipvs_says_nothing_of_it",
     .changes = {{kIpvs,
                  [](StaleUdpValues& seen) {
                      seen = {.lacks = "this kernel has no IPVS (module ip_vs)"};
                  }}},
     .concluded = {.verdict = ScenarioVerdict::kReproduced,
                   .never_says = {{"headline", "IPVS"}, {"cause", "IPVS"}, {"cure", "IPVS"}},
                   .cells = {{"ipvs.other-endpoint", CellVerdict::kSkip}},
                   .cured = true}},
    {.name = "ipvs_alone_says_nothing_of_rules",
     .concluded = {.never_says = {{"headline", "DNAT"}, {"cause", "DNAT"}},
                   .cured = true,
                   .after = "cure.ipvs.expire-nodest"},
     .only = kIpvs},
    {.name = "where_flows_follow_the_rules_nothing_is_reproduced",
     .changes = {{"*", follows_the_rules}},
     .concluded = {.verdict = ScenarioVerdict::kNotReproduced}},
};

const Rows kCures = {
    {.name = "a_flow_that_stays_with_the_cure_shows_none",
     .changes = {{"cure.delete-entry", keep_all}},
     .concluded = not_cured("went to the endpoint that is gone")},
    {.name = "no_entry_to_delete_shows_no_cure",
     .changes = {{"cure.delete-entry", [](StaleUdpValues& seen) { seen.deleted = 0; }}},
     .concluded = not_cured("no entry to delete")},
    {.name = "another_flow_that_goes_shows_no_cure",
     .changes = {{"cure.delete-entry", [](StaleUdpValues& seen) { seen.bystander = false; }}},
     .concluded = not_cured("another flow was deleted")},
    {.name = "datagrams_that_are_lost_with_it_show_no_cure",
     .changes = {{"cure.delete-entry", [](StaleUdpValues& seen) { seen.to_new = 3; }}},
     .concluded = not_cured("came out nowhere")},
    {.name = "a_failure_that_does_not_come_back_shows_no_cure",
     .changes = {{"other-endpoint.after-cure", goes_to_the_new_one}},
     .concluded = not_cured("was not seen again")},
    {.name = "a_cure_of_ipvs_that_fails_is_not_shown",
     .changes = {{"cure.ipvs.expire-nodest", [](StaleUdpValues& seen) { seen.to_new = 9; }}},
     .concluded = {.says = {{"cure", "not shown: "}}, .cured = false}},
    {.name = "a_failure_of_ipvs_that_does_not_come_back_shows_no_cure",
     .changes = {{"ipvs.other-endpoint.after-cure", goes_to_the_new_one}},
     .concluded = {.cured = false}},
};

const Rows kControls = {
    {.name = "a_new_flow_that_shows_it_proves_nothing",
     .changes = {{"control.new-flow", keep_all}},
     .concluded = nothing("control.new-flow")},
    {.name = "a_new_flow_without_an_endpoint_that_shows_it_proves_nothing",
     .changes = {{"control.no-endpoint.new-flow", keep_all}},
     .concluded = nothing("control.no-endpoint.new-flow")},
    {.name = "a_silence_that_shows_it_proves_nothing",
     .changes = {{"control.silence", keep_all}},
     .concluded = nothing("control.silence")},
    {.name = "a_new_flow_of_ipvs_that_shows_it_proves_nothing",
     .changes = {{"control.ipvs.new-flow", keep_ipvs_connection}},
     .concluded = nothing("control.ipvs.new-flow")},
    {.name = "a_control_whose_agent_died_concludes_nothing",
     .changes = {{"control.silence", objection("ended by signal 9")}},
     .concluded = nothing("ended by signal 9")},
    {.name = "a_cure_that_could_not_be_tried_concludes_nothing",
     .changes = {{"cure.delete-entry", objection("conntrack not found")}},
     .concluded = nothing("conntrack not found")},
    {.name = "nothing_executed_concludes_nothing",
     .concluded = nothing("nothing was measured"),
     .without = "*"},
    {.name = "no_datagram_concludes_nothing",
     .changes = {{"other-endpoint", [](StaleUdpValues& seen) { seen = {}; }}},
     .concluded = nothing("no datagram was sent before"),
     .only = "other-endpoint"},
    {.name = "a_control_alone_concludes_nothing",
     .concluded = nothing("no cell without a cure was run"),
     .only = "control.new-flow"},
};

// Traps: the same symptom by another cause.
const Rows kTraps = {
    // IPVS sends the flow on, and something else drops it; or nothing tells where it goes.
    {.name = "datagrams_that_ipvs_knows_nothing_of_are_not_given_this_cause",
     .changes = {{"ipvs.other-endpoint", ipvs_has("")}},
     .concluded = nothing("came out nowhere", {{"ipvs.other-endpoint", "lost"}})},
    {.name = "datagrams_that_ipvs_sends_on_are_not_given_this_cause",
     .changes = {{"ipvs.other-endpoint",
                  ipvs_has("UDP 04:57 UDP 198.18.0.2:40000 198.51.100.10:53 203.0.113.3:53")}},
     .concluded = nothing("came out nowhere", {{"ipvs.other-endpoint", "lost"}})},
    {.name = "datagrams_of_ipvs_of_which_some_arrive_are_not_given_this_cause",
     .changes = {{"ipvs.other-endpoint", [](StaleUdpValues& seen) { seen.to_new = 4; }}},
     .concluded = {.causes = {{"ipvs.other-endpoint", "lost"}}}},
    {.name = "rules_that_still_name_the_endpoint_are_not_given_this_cause",
     .changes = {{"*", keep_all},
                 {"*",
                  [](StaleUdpValues& seen) {
                      seen.ipvs_to_gone = false;
                      seen.entry_is_new = true;
                  }}},
     .concluded =
         nothing("its entry is younger than the change", {{"other-endpoint", "stale-rules"}})},
    {.name = "datagrams_that_are_dropped_are_not_given_this_cause",
     .changes = {{"other-endpoint", arrive(0)}},
     .concluded = nothing("came out nowhere", {{"other-endpoint", "lost"}})},
    {.name = "datagrams_of_which_some_are_dropped_are_not_given_this_cause",
     .changes = {{"other-endpoint", arrive(9)}},
     .concluded = nothing("came out nowhere", {{"other-endpoint", "lost"}})},
    {.name = "a_path_that_loses_before_the_change_concludes_nothing",
     .changes = {{"no-endpoint", [](StaleUdpValues& seen) { seen.reached_before = 3; }}},
     .concluded = nothing("before the change 3 of 5 datagrams")},
    {.name = "datagrams_without_an_entry_are_unexplained",
     .changes = {{"other-endpoint", [](StaleUdpValues& seen) { seen.entry = false; }}},
     .concluded = nothing("no entry of conntrack tells why", {}, 15)},
    {.name = "datagrams_that_no_entry_counts_are_unexplained",
     .changes = {{"other-endpoint", [](StaleUdpValues& seen) { seen.entry_packets = 14; }}},
     .concluded = nothing("no entry of conntrack tells why", {}, 15)},
};

[[maybe_unused]] const bool kAdded =
    add_cases(stale_udp_plan, as_usual, {kShown, kCures, kControls, kTraps});

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
