#include "harness/verdict/prices.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

using namespace pathproof::verdict;

namespace {

const ProbeOutcome kPasses{CellVerdict::kPass, ""};
const ProbeOutcome kFails{CellVerdict::kFail, "8 of 8 broke"};
const ProbeOutcome kFailsOtherwise{CellVerdict::kFail, "no end", true};
const ProbeOutcome kUntold{CellVerdict::kInconclusive, "short of CPU time"};

PriceCell cell_of(const std::vector<ProbeOutcome>& without, const ProbeOutcome& with) {
    return conclude_effect("cure", "probe", without, with);
}

const CostFigure kLatency{"latency", "latency of a lookup", "ms"};
const CostFigure kThroughput{"throughput", "throughput", "Mbit/s", true};

Cost cost_of(const CostFigure& figure, double more, double spread) {
    std::vector<double> without, with;
    for (int round = 0; round < 9; ++round) {
        // A drift is in both measurements of a round.
        without.push_back(100 + 10 * round);
        with.push_back(100 + 10 * round + more + spread * (round - 4));
    }
    return conclude_cost("cure", "load", figure, without, with);
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_effect_is_what_the_probe_did_with_and_without_the_cure) {
    BOOST_TEST((cell_of({kFails, kFails}, kPasses).effect == Effect::kCures));
    BOOST_TEST((cell_of({kFails, kFails}, kFails).effect == Effect::kDoesNotTouch));
    BOOST_TEST((cell_of({kPasses, kPasses}, kPasses).effect == Effect::kDoesNotTouch));
    const PriceCell broken = cell_of({kPasses, kPasses}, kFails);
    BOOST_TEST((broken.effect == Effect::kBreaks));
    BOOST_TEST(broken.without == "passes");
    BOOST_TEST(broken.with == "fails: 8 of 8 broke");
}

BOOST_AUTO_TEST_CASE(a_probe_that_fails_in_another_way_with_the_cure_is_broken_by_it) {
    BOOST_TEST((cell_of({kFails, kFails}, kFailsOtherwise).effect == Effect::kBreaks));
}

BOOST_AUTO_TEST_CASE(what_came_to_no_result_or_changed_by_itself_is_not_measured) {
    for (const PriceCell& cell :
         {cell_of({}, kPasses), cell_of({kUntold}, kPasses), cell_of({kFails, kUntold}, kPasses),
          cell_of({kFails, kPasses}, kPasses), cell_of({kPasses, kFails}, kFails),
          cell_of({kFails, kFails}, kUntold), cell_of({kFails, kFails}, {})}) {
        BOOST_TEST((cell.effect == Effect::kNotMeasured));
        BOOST_TEST(!cell.reason.empty());
    }
}

BOOST_AUTO_TEST_CASE(the_interval_of_a_median_is_that_of_the_binomial_distribution) {
    BOOST_TEST(!median_of({1, 2, 3, 4, 5}).interval.has_value());
    const Median of_six = median_of({6, 1, 5, 2, 4, 3});
    BOOST_TEST(of_six.value == 3.5);
    BOOST_TEST(of_six.interval->low == 1);
    BOOST_TEST(of_six.interval->high == 6);
    // The interval of 9 values is from the second to the eighth: 96.1 % (Hahn and Meeker,
    // Statistical Intervals, table A.15a).
    const Median of_nine = median_of({9, 8, 7, 6, 5, 4, 3, 2, 1});
    BOOST_TEST(of_nine.value == 5);
    BOOST_TEST(of_nine.interval->low == 2);
    BOOST_TEST(of_nine.interval->high == 8);
}

BOOST_AUTO_TEST_CASE(a_cost_is_said_where_the_difference_is_above_its_noise) {
    BOOST_TEST((cost_of(kLatency, 20, 1).verdict == CostVerdict::kCosts));
    BOOST_TEST((cost_of(kLatency, -20, 1).verdict == CostVerdict::kSaves));
    BOOST_TEST((cost_of(kLatency, 1, 5).verdict == CostVerdict::kWithinNoise));
    BOOST_TEST((cost_of(kThroughput, -20, 1).verdict == CostVerdict::kCosts));
    BOOST_TEST((cost_of(kThroughput, 20, 1).verdict == CostVerdict::kSaves));
    const Cost cost = cost_of(kLatency, 20, 1);
    BOOST_TEST(cost.more.value.number() == 20);
    BOOST_TEST(cost.more.interval->low == 17);
    BOOST_TEST(cost.more.interval->high == 23);
}

BOOST_AUTO_TEST_CASE(a_figure_without_rounds_is_not_measured_and_says_why) {
    const Cost none = conclude_cost("cure", "load", kLatency, {}, {}, "this CPU counts no cycles");
    BOOST_TEST((none.verdict == CostVerdict::kNotMeasured));
    BOOST_TEST(none.more.value.is_null());
    BOOST_TEST(none.more.note == "this CPU counts no cycles");
    const Cost few = conclude_cost("cure", "load", kLatency, {1, 2, 3}, {2, 3, 4});
    BOOST_TEST((few.verdict == CostVerdict::kNotMeasured));
    BOOST_TEST(few.more.note == "3 of 6 rounds came to a result");
}

BOOST_AUTO_TEST_CASE(side_effects_are_what_it_breaks_and_what_it_costs_and_nothing_else) {
    PriceTable table;
    table.cells = {cell_of({kPasses, kPasses}, kFails), cell_of({kFails, kFails}, kPasses),
                   cell_of({kUntold}, kFails)};
    table.costs = {cost_of(kLatency, 20, 1), cost_of(kLatency, 1, 5), cost_of(kThroughput, 20, 1)};
    const auto effects = side_effects(table, "cure");
    BOOST_REQUIRE(effects.size() == 2);
    BOOST_TEST(effects[0] == "breaks probe (fails: 8 of 8 broke)");
    BOOST_TEST(effects[1] == "latency of a lookup of load: +20 ms (+17 to +23), without it 140");
    BOOST_TEST(count_measured(table, "cure").without_result == 1);
    BOOST_TEST(side_effects(table, "another").empty());
}
