// Conclusions of stale-endpoint from plain values.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "harness/scenario/service_path/stale_endpoint.h"
#include "tests/scenario/path_conclusions.h"

BOOST_AUTO_TEST_SUITE(stale_endpoint_conclude)

using namespace pathproof;
using namespace pathproof::scenario;
using namespace conclusions;
using Role = verdict::Cell::Role;

namespace {

using Change = std::function<void(EndpointValues&)>;

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

verdict::ScenarioResult with(const std::string& id, const Change& change) {
    std::vector<MeasuredEndpointCell> cells;
    for (const EndpointCell& what : endpoint_cells()) {
        cells.push_back({.what = what, .seen = as_usual(what)});
        if (what.id == id || id == "*") {
            change(cells.back().seen);
        }
    }
    return conclude(cells);
}

// Connects to endpoints that serve which time out.
void lose(EndpointValues& seen, std::uint64_t connects) {
    ends(seen, ConnectEnd::kServed) -= connects;
    ends(seen, ConnectEnd::kTimedOut) += connects;
    seen.endpoints[0].failed += connects;
}

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

BOOST_AUTO_TEST_CASE(what_this_kernel_shows_is_reproduced_named_and_cured) {
    const auto result = with("", [](EndpointValues&) {});
    BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced), result.headline);
    BOOST_TEST(result.cure_shown);
    BOOST_TEST(
        contains(result.headline,
                 "nft.dead.each-way: 250 of 500 connects failed (50 refused, 50 timed out, 100 "
                 "unreachable, 50 answered by a stranger)"),
        result.headline);
    BOOST_TEST(contains(result.cause, "they name 8, of which 2 are dead"), result.cause);
    BOOST_TEST(contains(result.cause, "800 by conntrack's entry or event, 100 by the counter"),
               result.cause);
    BOOST_TEST(
        contains(result.cure, "none of 300 connects failed, with the old rules again 100 of 400"),
        result.cure);
    BOOST_TEST(cell(result, "ipv6.dead.each-way").cause == "stale-endpoint");
    BOOST_TEST(sum_of(cell(result, "nft.dead.each-way"), {"by_counter"}) == 50);
    BOOST_TEST(result.proofs.size() == 5U);
    BOOST_TEST(result.before_cell == "dead.closed");
    BOOST_TEST(result.after_cell == "cure.rules-of-the-living");
}

BOOST_AUTO_TEST_CASE(a_control_that_fails_proves_nothing) {
    inconclusive(with("control.all-alive", [](EndpointValues& seen) { lose(seen, 1); }),
                 "1 although conntrack names an endpoint that serves");
}

BOOST_AUTO_TEST_CASE(a_cure_that_fails_is_not_shown) {
    const auto result =
        with("cure.rules-of-the-living", [](EndpointValues& seen) { lose(seen, 3); });
    BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced), result.headline);
    BOOST_TEST(!result.cure_shown);
    BOOST_TEST(contains(result.cure, "not shown: 3 of 300 connects failed"), result.cure);
    const auto gone = with("dead.closed.after-cure", [](EndpointValues& seen) {
        seen = as_usual({.serving = 8, .dead = {}});
    });
    BOOST_TEST(!gone.cure_shown);
    BOOST_TEST(contains(gone.cure, "was not seen again"), gone.cure);
}

BOOST_AUTO_TEST_CASE(where_every_connect_is_served_nothing_is_reproduced) {
    const auto result =
        with("*", [](EndpointValues& seen) { seen = as_usual({.serving = 8, .dead = {}}); });
    BOOST_TEST((result.verdict == ScenarioVerdict::kNotReproduced), result.headline);
    BOOST_TEST(result.cause.empty());
    BOOST_TEST(result.cure.empty());
}

// Traps: the same symptom by another cause.
BOOST_AUTO_TEST_CASE(random_loss_is_not_given_this_cause) {
    const auto result = with("dead.closed", [](EndpointValues& seen) { lose(seen, 30); });
    inconclusive(result, "30 although conntrack names an endpoint that serves");
    BOOST_TEST(cell(result, "dead.closed").cause == "stale-endpoint+serving-endpoint");
}

BOOST_AUTO_TEST_CASE(a_filter_before_the_rules_is_unexplained) {
    const auto result = with("dead.closed", [](EndpointValues& seen) {
        seen = {.endpoints = seen.endpoints, .failed_without_entry = 400};
        for (EndpointTally& each : seen.endpoints) {
            each.hits = each.flows = each.failed = 0;
        }
        ends(seen, ConnectEnd::kTimedOut) = 400;
    });
    inconclusive(result, "400 unexplained");
    BOOST_TEST(result.unexplained == 400U);
}

// An endpoint that is short of CPU time has accepted, and says its word too late.
// A rule of the DUT rejects connections to endpoints that serve: no packet came to a dead one.
BOOST_AUTO_TEST_CASE(connects_that_the_dut_stops_went_to_no_dead_endpoint) {
    const auto result = with("dead.closed", [](EndpointValues& seen) {
        seen.not_followed.clear();
        seen.stopped = seen.stopped_to_dead = seen.failed();
        seen.stopped_by = "reject";
        seen.stopped_how = "100 dropped by a rule that rejects it, in hook forward";
    });
    inconclusive(result, "ended on the DUT, before any endpoint");
    BOOST_TEST(cell(result, "dead.closed").cause == "reject");
    const auto some = with("dead.closed", [](EndpointValues& seen) {
        seen.not_followed.clear();
        seen.stopped = 3;
        seen.stopped_by = "tc-ingress";
    });
    BOOST_TEST(cell(some, "dead.closed").cause == "stale-endpoint+tc-ingress");
    BOOST_TEST(contains(cell(some, "dead.closed").reason, "100 came to a dead endpoint"));
}

// No connect is a dead endpoint's where all live: its packets are lost on the way back.
BOOST_AUTO_TEST_CASE(connects_that_fail_where_all_live_went_to_no_dead_endpoint) {
    const auto result = with("control.all-alive", [](EndpointValues& seen) {
        ends(seen, ConnectEnd::kServed) -= 30;
        ends(seen, ConnectEnd::kTimedOut) += 10;
        ends(seen, ConnectEnd::kNothing) += 20;
        seen.endpoints.front().failed += 30;
        seen.not_followed.clear();
        seen.stopped = 10;
        seen.stopped_by = "rule-drop";
        seen.stopped_how = "10 dropped by a rule";
    });
    BOOST_TEST(cell(result, "control.all-alive").cause == "rule-drop");
    BOOST_TEST(contains(cell(result, "control.all-alive").reason, "of 20 it is not known"),
               cell(result, "control.all-alive").reason);
}

BOOST_AUTO_TEST_CASE(a_cause_by_conntrack_alone_is_called_likely) {
    const auto by_packet = with("*", [](EndpointValues& seen) { seen.not_followed.clear(); });
    BOOST_TEST(contains(by_packet.cause, "none of their SYNs ended on the DUT"), by_packet.cause);
    BOOST_TEST(!contains(by_packet.cause, "likely"), by_packet.cause);
    const auto result = with("*", [](EndpointValues&) {});
    BOOST_TEST(contains(result.cause, "likely: their packets were not followed"), result.cause);
    BOOST_TEST(contains(cell(result, "dead.closed").reason, "by conntrack, not by packet"));
}

BOOST_AUTO_TEST_CASE(endpoints_that_tell_nothing_in_time_are_no_strangers) {
    for (const char* id : {"dead.closed", "control.all-alive"}) {
        const auto result = with(id, [](EndpointValues& seen) {
            ends(seen, ConnectEnd::kServed) -= 20;
            ends(seen, ConnectEnd::kNothing) += 20;
            seen.endpoints.front().failed += 20;
        });
        inconclusive(result, "20 connected and told nothing in time");
        BOOST_TEST(!contains(cell(result, "control.all-alive").reason, "stranger"));
        BOOST_TEST(cell(result, id).cause.empty());
    }
}

BOOST_AUTO_TEST_CASE(a_share_outside_of_the_band_does_not_fit_the_rules) {
    const auto result = with("dead.closed", [](EndpointValues& seen) {
        for (EndpointTally& each : seen.endpoints) {
            each.flows = each.hits = each.dead() ? 100 : 100 / 3;
            each.failed = each.dead() ? 100 : 0;
        }
        ends(seen, ConnectEnd::kRefused) = 200;
        ends(seen, ConnectEnd::kServed) = 200;
    });
    inconclusive(result, "with 2 of 8 endpoints dead 72 to 129 must fail");
}

BOOST_AUTO_TEST_CASE(an_endpoint_that_serves_is_not_dead) {
    inconclusive(with("dead.closed",
                      [](EndpointValues& seen) {
                          seen.endpoints[7].failed = 10;
                          ends(seen, ConnectEnd::kRefused) -= 40;
                          ends(seen, ConnectEnd::kServed) += 40;
                      }),
                 "40 connects were served by endpoints that should be dead");
}

BOOST_AUTO_TEST_CASE(an_agent_that_died_and_nothing_executed_conclude_nothing) {
    inconclusive(with("dead.each-way",
                      [](EndpointValues& seen) { seen.objections = {"ended by signal 9"}; }),
                 "ended by signal 9");
    inconclusive(conclude(std::vector<MeasuredEndpointCell>{}), "nothing was measured");
    inconclusive(conclude({{.what = endpoint_cells()[0]}}), "no connection was made");
}

BOOST_AUTO_TEST_CASE(cells_that_take_what_is_not_there_are_skipped_and_the_others_tell) {
    const std::string why = "the kernel lacks the module nft_numgen";
    std::vector<MeasuredEndpointCell> cells;
    for (const EndpointCell& what : endpoint_cells()) {
        const bool nft = what.proxy == Proxy::kNftables;
        cells.push_back(
            {.what = what, .seen = nft ? EndpointValues{.lacks = why} : as_usual(what)});
    }
    const auto result = conclude(cells);
    BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced), result.headline);
    BOOST_TEST(result.cure_shown);
    BOOST_TEST((cell(result, "nft.dead.each-way").verdict == verdict::CellVerdict::kSkip));
    BOOST_TEST(cell(result, "nft.dead.each-way").reason == why);
    for (MeasuredEndpointCell& each : cells) {
        each.seen = {.lacks = why};
    }
    inconclusive(conclude(cells), "Nothing is concluded: " + why + ".");
}

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
