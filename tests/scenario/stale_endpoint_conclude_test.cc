// Conclusions of stale-endpoint from plain values.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "harness/scenario/service_path/stale_endpoint.h"
#include "tests/scenario/conclusion_table.h"

BOOST_AUTO_TEST_SUITE(stale_endpoint_conclude)

using namespace pathproof;
using namespace pathproof::scenario;
using namespace conclusions;
using Role = verdict::Cell::Role;

namespace {

std::uint64_t& ends(EndpointValues& seen, ConnectEnd end) {
    return seen.ends[static_cast<std::size_t>(end)];
}

ConnectEnd end_as(EndpointState state) {
    switch (state) {
        case EndpointState::kSilent: return ConnectEnd::kTimedOut;
        case EndpointState::kClosed: return ConnectEnd::kRefused;
        case EndpointState::kStranger: return ConnectEnd::kStranger;
        default: return ConnectEnd::kUnreachable;
    }
}

// The machine this was written on: 50 connects for each endpoint.
EndpointValues as_usual(const EndpointCell& what) {
    EndpointValues seen;
    for (unsigned i = 0; i < what.named(); ++i) {
        const bool dead = i >= what.serving;
        const EndpointState state = dead ? what.dead[i - what.serving] : EndpointState::kServes;
        const bool tracked = state != EndpointState::kRejected;
        seen.endpoints.push_back({.address = "203.0.113." + std::to_string(16 + i),
                                  .state = state,
                                  .hits = 50,
                                  .flows = tracked ? 50U : 0U,
                                  .failed = dead && tracked ? 50U : 0U});
        ends(seen, dead ? end_as(state) : ConnectEnd::kServed) += 50;
        seen.failed_without_entry += tracked ? 0 : 50;
    }
    return seen;
}

// Connects to endpoints that serve which time out.
void lose(EndpointValues& seen, std::uint64_t connects) {
    ends(seen, ConnectEnd::kServed) -= connects;
    ends(seen, ConnectEnd::kTimedOut) += connects;
    seen.endpoints[0].failed += connects;
}

auto lost(std::uint64_t connects) {
    return [connects](EndpointValues& seen) { lose(seen, connects); };
}

void all_serve(EndpointValues& seen) {
    seen = as_usual({.serving = 8, .dead = {}});
}

void tell_nothing_in_time(EndpointValues& seen) {
    ends(seen, ConnectEnd::kServed) -= 20;
    ends(seen, ConnectEnd::kNothing) += 20;
    seen.endpoints.front().failed += 20;
}

// Has the DUT stop some connects on their way to live endpoints, as the packets that were followed tell.
auto stopped(std::uint64_t connects, const char* by, const char* how) {
    return [=](EndpointValues& seen) {
        seen.not_followed.clear();
        seen.stopped = connects;
        seen.stopped_by = by;
        seen.stopped_how = how;
    };
}

void all_rejected(EndpointValues& seen) {
    stopped(seen.failed(), "reject",
            "100 dropped by a rule that rejects it, in hook forward")(seen);
    seen.stopped_to_dead = seen.stopped;
}

constexpr const char* kNoNumgen = "the kernel lacks the module nft_numgen";

void lacks_numgen(EndpointValues& seen) {
    seen = {.lacks = kNoNumgen};
}

using Rows = std::vector<Row<EndpointCell, EndpointValues>>;

}  // namespace

BOOST_AUTO_TEST_CASE(the_band_holds_999_of_1000_and_no_more_than_it_must) {
    // dns_cni.md's figures: 15 to 35 % of 200, 21.8 to 28.2 % of 2000.
    BOOST_TEST((binomial_band(200, 0.25) == std::pair<std::uint64_t, std::uint64_t>(31, 71)));
    BOOST_TEST((binomial_band(2000, 0.25) == std::pair<std::uint64_t, std::uint64_t>(437, 565)));
    BOOST_TEST((binomial_band(10, 0.5) == std::pair<std::uint64_t, std::uint64_t>(0, 10)));
    BOOST_TEST((binomial_band(400, 0) == std::pair<std::uint64_t, std::uint64_t>(0, 0)));
    BOOST_TEST((binomial_band(400, 1) == std::pair<std::uint64_t, std::uint64_t>(400, 400)));
    BOOST_TEST((binomial_band(0, 0.25) == std::pair<std::uint64_t, std::uint64_t>(0, 0)));
}

const Rows kShown = {
    {.name = "what_this_kernel_shows_is_reproduced_named_and_cured",
     .concluded = {.verdict = ScenarioVerdict::kReproduced,
                   .says = {{"headline",
                             "nft.dead.each-way: 250 of 500 connects failed (50 refused, 50 "
                             "timed out, 100 unreachable, 50 answered by a stranger)"},
                            {"cause", "they name 8, of which 2 are dead"},
                            {"cause", "800 by conntrack's entry or event, 100 by the counter"},
                            {"cure",
                             "none of 300 connects failed, with the old rules again 100 of 400"}},
                   .causes = {{"ipv6.dead.each-way", "stale-endpoint"}},
                   .cured = true,
                   .before = "dead.closed",
                   .after = "cure.rules-of-the-living",
                   .proofs = 5,
                   .more =
                       [](const ScenarioResult& result) {
                           BOOST_TEST(sum_of(cell(result, "nft.dead.each-way"), {"by_counter"}) ==
                                      50);
                       }}},
    {.name = "a_control_that_fails_proves_nothing",
     .changes = {{"control.all-alive", lost(1)}},
     .concluded = nothing("1 although conntrack names an endpoint that serves")},
    {.name = "a_cure_that_fails_is_not_shown",
     .changes = {{"cure.rules-of-the-living", lost(3)}},
     .concluded = not_cured("not shown: 3 of 300 connects failed")},
    {.name = "a_failure_that_does_not_come_back_shows_no_cure",
     .changes = {{"dead.closed.after-cure", all_serve}},
     .concluded = not_cured("was not seen again")},
    {.name = "where_every_connect_is_served_nothing_is_reproduced",
     .changes = {{"*", all_serve}},
     .concluded = {.verdict = ScenarioVerdict::kNotReproduced}},
    {.name = "a_cause_by_conntrack_alone_is_called_likely",
     .concluded = {.says = {{"cause", "likely: their packets were not followed"},
                            {"dead.closed", "by conntrack, not by packet"}}}},
    {.name = "a_cause_by_packets_is_not_called_likely",
     .changes = {{"*", [](EndpointValues& seen) { seen.not_followed.clear(); }}},
     .concluded = {.says = {{"cause", "none of their SYNs ended on the DUT"}},
                   .never_says = {{"cause", "likely"}}}},
    {.name = "cells_that_take_what_is_not_there_are_skipped_and_the_others_tell",
     .changes = {{"*nft.*", lacks_numgen}},
     .concluded = {.verdict = ScenarioVerdict::kReproduced,
                   .says = {{"nft.dead.each-way", kNoNumgen}},
                   .cells = {{"nft.dead.each-way", CellVerdict::kSkip}},
                   .cured = true}},
    {.name = "where_all_cells_are_skipped_nothing_is_concluded",
     .changes = {{"*", lacks_numgen}},
     .concluded = nothing(std::string("Nothing is concluded: ") + kNoNumgen + ".")},
    {.name = "an_agent_that_died_concludes_nothing",
     .changes = {{"dead.each-way",
                  [](EndpointValues& seen) { seen.objections = {"ended by signal 9"}; }}},
     .concluded = nothing("ended by signal 9")},
    {.name = "nothing_executed_concludes_nothing",
     .concluded = nothing("nothing was measured"),
     .without = "*"},
    {.name = "no_connection_concludes_nothing",
     .changes = {{"dead.closed", [](EndpointValues& seen) { seen = {}; }}},
     .concluded = nothing("no connection was made"),
     .only = "dead.closed"},
};

// Traps: the same symptom by another cause.
const Rows kTraps = {
    {.name = "random_loss_is_not_given_this_cause",
     .changes = {{"dead.closed", lost(30)}},
     .concluded = nothing("30 although conntrack names an endpoint that serves",
                          {{"dead.closed", "stale-endpoint+serving-endpoint"}})},
    {.name = "a_filter_before_the_rules_is_unexplained",
     .changes = {{"dead.closed",
                  [](EndpointValues& seen) {
                      seen = {.endpoints = seen.endpoints, .failed_without_entry = 400};
                      for (EndpointTally& each : seen.endpoints) {
                          each.hits = each.flows = each.failed = 0;
                      }
                      ends(seen, ConnectEnd::kTimedOut) = 400;
                  }}},
     .concluded = nothing("400 unexplained", {}, 400)},
    // A rule of the DUT rejects connections to endpoints that serve: no packet came to a dead one.
    {.name = "connects_that_the_dut_stops_went_to_no_dead_endpoint",
     .changes = {{"dead.closed", all_rejected}},
     .concluded = nothing("ended on the DUT, before any endpoint", {{"dead.closed", "reject"}})},
    {.name = "connects_of_which_the_dut_stops_some_have_both_causes",
     .changes = {{"dead.closed", stopped(3, "tc-ingress", "")}},
     .concluded = {.says = {{"dead.closed", "100 came to a dead endpoint"}},
                   .causes = {{"dead.closed", "stale-endpoint+tc-ingress"}}}},
    // Packets that are lost on the way back are no dead endpoint's.
    {.name = "connects_that_fail_where_all_live_went_to_no_dead_endpoint",
     .changes = {{"control.all-alive",
                  [](EndpointValues& seen) {
                      ends(seen, ConnectEnd::kServed) -= 30;
                      ends(seen, ConnectEnd::kTimedOut) += 10;
                      ends(seen, ConnectEnd::kNothing) += 20;
                      seen.endpoints.front().failed += 30;
                  }},
                 {"control.all-alive", stopped(10, "rule-drop", "10 dropped by a rule")}},
     .concluded = {.says = {{"control.all-alive", "of 20 it is not known"}},
                   .causes = {{"control.all-alive", "rule-drop"}}}},
    // An endpoint that is short of CPU time has accepted, and says its word too late.
    {.name = "endpoints_that_tell_nothing_in_time_are_no_strangers",
     .changes = {{"dead.closed", tell_nothing_in_time}},
     .concluded = {.verdict = ScenarioVerdict::kInconclusive,
                   .says = {{"headline", "20 connected and told nothing in time"}},
                   .never_says = {{"control.all-alive", "stranger"}},
                   .causes = {{"dead.closed", ""}},
                   .cured = false}},
    {.name = "endpoints_of_the_control_that_tell_nothing_in_time_are_no_strangers",
     .changes = {{"control.all-alive", tell_nothing_in_time}},
     .concluded = {.verdict = ScenarioVerdict::kInconclusive,
                   .says = {{"headline", "20 connected and told nothing in time"}},
                   .never_says = {{"control.all-alive", "stranger"}},
                   .causes = {{"control.all-alive", ""}},
                   .cured = false}},
    {.name = "a_share_outside_of_the_band_does_not_fit_the_rules",
     .changes = {{"dead.closed",
                  [](EndpointValues& seen) {
                      for (EndpointTally& each : seen.endpoints) {
                          each.flows = each.hits = each.dead() ? 100 : 100 / 3;
                          each.failed = each.dead() ? 100 : 0;
                      }
                      ends(seen, ConnectEnd::kRefused) = 200;
                      ends(seen, ConnectEnd::kServed) = 200;
                  }}},
     .concluded = nothing("with 2 of 8 endpoints dead 72 to 129 must fail")},
    {.name = "an_endpoint_that_serves_is_not_dead",
     .changes = {{"dead.closed",
                  [](EndpointValues& seen) {
                      seen.endpoints[7].failed = 10;
                      ends(seen, ConnectEnd::kRefused) -= 40;
                      ends(seen, ConnectEnd::kServed) += 40;
                  }}},
     .concluded = nothing("40 connects were served by endpoints that should be dead")},
};

[[maybe_unused]] const bool kAdded = add_cases(endpoint_cells, as_usual, {kShown, kTraps});

BOOST_AUTO_TEST_CASE(no_sentence_says_what_no_value_bears_out) {
    ten_thousand({{"refused", {"refused"}},
                  {"timed out", {"timed_out"}},
                  {"unreachable", {"unreachable"}},
                  {"by a stranger", {"stranger"}},
                  {"another error", {"other_error"}},
                  {"entry or event", {"by_entry"}},
                  {"for which conntrack has no entry", {"by_counter"}},
                  {"an endpoint that serves", {"at_serving", "connects"}},
                  {"although conntrack names", {"at_serving"}},
                  {"unexplained", {"unexplained"}}},
                 [](Dice& dice) {
                     std::vector<MeasuredEndpointCell> cells;
                     for (EndpointCell what : endpoint_cells()) {
                         if (dice.one_in(20)) {
                             what.serving = static_cast<unsigned>(dice.up_to(3));
                         }
                         EndpointValues seen = as_usual(what);
                         if (dice.one_in(8)) {
                             seen = {.endpoints = seen.endpoints};
                             for (EndpointTally& each : seen.endpoints) {
                                 each.hits = dice.up_to(9);
                                 each.flows = dice.up_to(each.hits);
                                 each.failed = dice.up_to(each.flows);
                                 ends(seen, ConnectEnd::kServed) += each.flows - each.failed;
                                 seen.ends[1 + dice.up_to(4)] += each.failed;
                             }
                             seen.failed_without_entry = dice.up_to(9);
                             ends(seen, ConnectEnd::kTimedOut) += seen.failed_without_entry;
                         }
                         if (dice.one_in(40)) {
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
