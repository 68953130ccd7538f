// Conclusions of ipvs-reuse from plain values.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "harness/scenario/service_path/ipvs_reuse.h"
#include "tests/scenario/path_conclusions.h"

BOOST_AUTO_TEST_SUITE(ipvs_reuse_conclude)

using namespace pathproof;
using namespace pathproof::scenario;
using namespace conclusions;

namespace {

ReuseValues no_slow_one(const ReuseCell& what) {
    return {
        .connects = 300, .reused = what.other_ports ? 0U : 200U, .time_wait = 100, .worst_ms = 12};
}

void swallow(ReuseValues& seen, std::uint64_t syns) {
    seen.slow = seen.swallowed = syns;
    seen.worst_ms = 1016;
}

// A kernel before Linux 5.9.
verdict::ScenarioResult with(const std::string& id,
                             const std::function<void(ReuseValues&)>& change) {
    std::vector<MeasuredReuseCell> cells;
    for (const ReuseCell& what : ipvs_reuse_plan()) {
        cells.push_back({.what = what, .seen = no_slow_one(what)});
        if (what.role == CellRole::kMatrix) {
            swallow(cells.back().seen, 190);
        }
        if (what.id == id || id == "*") {
            change(cells.back().seen);
        }
    }
    return conclude(cells);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_kernel_that_swallows_syns_is_named_and_cured) {
    const auto result = with("", [](ReuseValues&) {});
    BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced), result.headline);
    BOOST_TEST(
        contains(result.headline, "190 of 300 connects took 1 s or more, the longest 1.02 s"),
        result.headline);
    BOOST_TEST(
        contains(result.cause, "first SYN of 190 connects came to the DUT and did not leave it"),
        result.cause);
    BOOST_TEST(result.cure_shown);
    BOOST_TEST(
        contains(result.cure, "then none of 300 connects was slow, without it again 190 of 300"),
        result.cure);
    BOOST_TEST(result.unexplained == 0U);
}

BOOST_AUTO_TEST_CASE(a_kernel_that_does_not_is_not_accused) {
    std::vector<MeasuredReuseCell> cells;
    for (const ReuseCell& what : ipvs_reuse_plan()) {
        cells.push_back({.what = what, .seen = no_slow_one(what)});
    }
    const auto result = conclude(cells);
    BOOST_TEST((result.verdict == ScenarioVerdict::kNotReproduced), result.headline);
    BOOST_TEST(contains(result.headline, "400 of 600 connects came from a port that IPVS had seen"),
               result.headline);
    BOOST_TEST(result.cause.empty());
}

// Traps: slow for another reason.
BOOST_AUTO_TEST_CASE(connects_that_are_slow_for_another_reason_are_not_given_this_cause) {
    // Lost behind the DUT, or of a slow server: each SYN left it.
    inconclusive(with("reuse", [](ReuseValues& seen) { seen.swallowed = 0; }),
                 "the first SYN of none of 190 came to the DUT");
    // The first SYN of some flows is missing.
    const auto some = with("reuse", [](ReuseValues& seen) { seen.swallowed = 150; });
    inconclusive(some, "the first SYN of 150 of 190 came to the DUT");
    BOOST_TEST(some.unexplained == 40U);
    // Ports that were never used before are slow too.
    inconclusive(with("control.other-ports", [](ReuseValues& seen) { seen.slow = 30; }),
                 "control.other-ports");
    inconclusive(with("reuse", [](ReuseValues& seen) { seen.failed = 3; }),
                 "3 of 300 connects failed");
}

BOOST_AUTO_TEST_CASE(where_the_stimulus_was_missing_nothing_is_concluded) {
    inconclusive(with("reuse", [](ReuseValues& seen) { seen.reused = 0; }),
                 "no port was used twice");
    inconclusive(with("reuse", [](ReuseValues& seen) { seen.time_wait = 0; }),
                 "IPVS had no connection in TIME_WAIT");
    inconclusive(with("*", [](ReuseValues& seen) { seen = {}; }), "no connect was made");
    inconclusive(with("reuse", [](ReuseValues& seen) { seen.objections = {"ended by signal 9"}; }),
                 "ended by signal 9");
}

BOOST_AUTO_TEST_CASE(a_cure_that_fails_is_not_shown) {
    const auto failed = with("cure.reuse-mode-0", [](ReuseValues& seen) { swallow(seen, 5); });
    BOOST_TEST(!failed.cure_shown);
    BOOST_TEST(contains(failed.cure, "not shown: 5 of 300"), failed.cure);
    const auto gone = with("reuse.after-cure", [](ReuseValues& seen) { swallow(seen, 0); });
    BOOST_TEST(!gone.cure_shown);
    BOOST_TEST(contains(gone.cure, "was not seen again"), gone.cure);
}

BOOST_AUTO_TEST_CASE(no_sentence_says_what_no_value_bears_out) {
    ten_thousand({{"took 1 s or more, the longest", {"slow"}},
                  {"swallowed", {"swallowed"}},
                  {"connects failed", {"failed"}},
                  {"connections in TIME_WAIT. With", {"time_wait"}}},
                 [](Dice& dice) {
                     std::vector<MeasuredReuseCell> cells;
                     for (const ReuseCell& what : ipvs_reuse_plan()) {
                         ReuseValues seen = no_slow_one(what);
                         if (what.role == CellRole::kMatrix && !dice.one_in(3)) {
                             swallow(seen, dice.up_to(200));
                         }
                         if (dice.one_in(9)) {
                             seen.slow = dice.up_to(20);
                             seen.swallowed = dice.up_to(seen.slow);
                         }
                         if (dice.one_in(15)) {
                             seen.failed = dice.up_to(5);
                             seen.reused = dice.up_to(3);
                             seen.time_wait = dice.up_to(2);
                         }
                         if (!dice.one_in(12)) {
                             cells.push_back({.what = what, .seen = seen});
                         }
                     }
                     return conclude(cells);
                 });
}

BOOST_AUTO_TEST_SUITE_END()
