#define BOOST_TEST_MODULE search
#include "dataplane/search/classify.h"

#include <array>
#include <boost/test/unit_test.hpp>

using namespace pathproof::search;
namespace tt = boost::test_tools;

namespace {

using Seconds = std::chrono::seconds;

// The example search of MLRsearch, appendix "Example Search": four goals ...
const std::array<Criteria, 4> kGoals = {
    Criteria{0, 0, Seconds(60), Seconds(60)},        // RFC2544
    Criteria{0, 0.5, Seconds(60), Seconds(120)},     // TST009
    Criteria{0.005, 0.5, Seconds(1), Seconds(120)},  // 1s final
    Criteria{0.005, 0.2, Seconds(60), Seconds(60)},  // 20% exceed
};

struct Added {
    int times;
    int duration_s;
    double loss;
};

// ... six points in time, with the trials added since the one before, and its tables. Where the
// tables call the 20 % goal's load a lower bound (points 5 and 6) their own figures, 42.857 % and
// 27.273 % above its 20 %, and the classification code, which decides, make it an upper bound.
struct Point {
    Added added;
    std::array<double, 4> optimistic;  // percent
    std::array<double, 4> pessimistic;
    std::array<LoadClass, 4> load_class;
};

constexpr LoadClass U = LoadClass::kUpperBound;
constexpr LoadClass L = LoadClass::kLowerBound;
constexpr LoadClass Q = LoadClass::kUndecided;

const std::array<Point, 6> kPoints = {{
    {{59, 1, 0}, {0, 0, 0, 0}, {100, 100, 50.833, 100}, {Q, Q, Q, Q}},
    {{1, 1, 0.01}, {1.667, 0, 0.833, 0}, {100, 100, 50.833, 100}, {U, Q, Q, Q}},
    {{59, 1, 0.01}, {100, 0.833, 50, 75.417}, {100, 100, 50.833, 100}, {U, Q, Q, U}},
    {{1, 1, 0}, {100, 0, 50, 75}, {100, 100, 50, 100}, {U, Q, L, U}},
    {{1, 60, 0.001}, {100, 50, 33.333, 42.857}, {100, 100, 33.333, 42.857}, {U, Q, L, U}},
    {{1, 60, 0}, {66.667, 50, 25, 27.273}, {66.667, 50, 25, 27.273}, {U, L, L, U}},
}};

void add(std::vector<TrialRecord>& trials, const Added& added) {
    for (int n = 0; n < added.times; ++n) {
        trials.push_back({.duration = Seconds(added.duration_s), .loss_ratio = added.loss});
    }
}

std::vector<TrialRecord> all_example_trials() {
    std::vector<TrialRecord> trials;
    for (const Point& point : kPoints) {
        add(trials, point.added);
    }
    return trials;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_example_search_of_the_rfc_is_classified_as_its_tables_say) {
    std::vector<TrialRecord> trials;
    for (std::size_t point = 0; point < kPoints.size(); ++point) {
        add(trials, kPoints[point].added);
        for (std::size_t goal = 0; goal < kGoals.size(); ++goal) {
            BOOST_TEST_CONTEXT("point " << point + 1 << ", goal " << goal + 1) {
                const DurationSums time = sums(kGoals[goal], trials);
                const ExceedEstimates share = estimates(kGoals[goal], time);
                BOOST_TEST(100 * share.optimistic == kPoints[point].optimistic[goal],
                           tt::tolerance(1e-3));
                BOOST_TEST(100 * share.pessimistic == kPoints[point].pessimistic[goal],
                           tt::tolerance(1e-3));
                BOOST_TEST((classify(kGoals[goal], time) == kPoints[point].load_class[goal]));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(the_example_search_of_the_rfc_has_its_conditional_throughputs) {
    const std::vector<TrialRecord> trials = all_example_trials();
    // At one million frames per second: 1,000,000, 1,000,000 and 999,000.
    BOOST_TEST(quantile_loss_ratio(kGoals[1], trials) == 0);
    BOOST_TEST(quantile_loss_ratio(kGoals[2], trials) == 0);
    BOOST_TEST(quantile_loss_ratio(kGoals[3], trials) == 0.001, tt::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(an_unmeasured_load_is_undecided) {
    for (const Criteria& goal : kGoals) {
        BOOST_TEST((classify(goal, {}) == Q));
    }
}

BOOST_AUTO_TEST_CASE(what_is_missing_to_the_duration_sum_counts_as_lost) {
    std::vector<TrialRecord> trials;
    add(trials, {1, 60, 0.0});
    // 60 s of the 120 s are in the quantile that half may exceed; 59 s are not enough for it.
    BOOST_TEST(quantile_loss_ratio(kGoals[1], trials) == 0);
    const Criteria longer{0, 0.5, Seconds(60), Seconds(122)};
    BOOST_TEST(quantile_loss_ratio(longer, trials) == 1);
}

BOOST_AUTO_TEST_CASE(short_trials_without_loss_do_not_make_a_lower_bound) {
    std::vector<TrialRecord> trials;
    add(trials, {10'000, 1, 0.0});
    BOOST_TEST((classify(kGoals[0], sums(kGoals[0], trials)) == Q));
    BOOST_TEST((classify(kGoals[1], sums(kGoals[1], trials)) == Q));
}

BOOST_AUTO_TEST_CASE(a_trial_at_the_goal_loss_ratio_is_low_loss) {
    std::vector<TrialRecord> trials;
    add(trials, {120, 1, 0.005});
    BOOST_TEST((classify(kGoals[2], sums(kGoals[2], trials)) == L));
    trials.clear();
    add(trials, {120, 1, 0.0050001});
    BOOST_TEST((classify(kGoals[2], sums(kGoals[2], trials)) == U));
}

BOOST_AUTO_TEST_CASE(ties_of_ratios_without_a_binary_form_stay_ties) {
    // 3 of 10 trials lose, and 0.3 may: 0.3 * 10 is not 3 in binary.
    const Criteria goal{0, 0.3, Seconds(1), Seconds(10)};
    std::vector<TrialRecord> trials;
    add(trials, {3, 1, 0.5});
    add(trials, {7, 1, 0.0});
    BOOST_TEST((classify(goal, sums(goal, trials)) == L));
    BOOST_TEST(quantile_loss_ratio(goal, trials) == 0);
}
