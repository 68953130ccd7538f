#include "harness/compare/shift.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

#include "harness/compare/compare.h"
#include "harness/compare/text.h"

using namespace pathproof;
using namespace pathproof::compare;

namespace {

std::vector<double> drawn(std::mt19937_64& random, std::size_t count, double mean) {
    std::normal_distribution<double> noise(mean, 1);
    std::vector<double> values(count);
    for (double& value : values) {
        value = noise(random);
    }
    return values;
}

// A run of one cell with figures of these trials.
verdict::RunResult run_with(const std::vector<std::vector<double>>& figures) {
    verdict::Cell cell{.id = "c", .verdict = verdict::CellVerdict::kPass};
    for (const auto& trials : figures) {
        const std::string name = "f" + std::to_string(cell.measures.size());
        cell.measures.push_back(
            {.name = name, .label = name, .value = trials.front(), .unit = "ms", .trials = trials});
    }
    verdict::ScenarioResult scenario{.id = "s"};
    scenario.cells = {cell};
    return {.scenarios = {scenario}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(shift)

// Table values: R's wilcox.test(exact = TRUE) of the same numbers, and all ways to divide the ranks by hand.
BOOST_AUTO_TEST_CASE(the_p_value_is_exact) {
    BOOST_TEST(test_shift({1, 2, 3}, {4, 5, 6}).p == 2.0 / 20, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(test_shift({1, 2, 3, 4}, {5, 6, 7, 8}).p == 2.0 / 70,
               boost::test_tools::tolerance(1e-12));
    // Sums of ranks 1+2+5 = 8 of 20 divisions: {1,2,3} 6, {1,2,4} 7, {1,2,5} and {1,3,4} 8, and their mirrors.
    BOOST_TEST(test_shift({1, 2, 5}, {3, 4, 6}).p == 8.0 / 20, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(test_shift({3, 4, 6}, {1, 2, 5}).p == 8.0 / 20, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(ties_are_midranks_and_limit_what_can_be_shown) {
    const ShiftTest same = test_shift({7, 7, 7, 7}, {7, 7, 7, 7});
    BOOST_TEST(same.p == 1.0);
    BOOST_TEST(same.least_p == 1.0);
    // Only one of eight values differs: all divisions are equally extreme, whichever run has it.
    const ShiftTest one = test_shift({7, 7, 7, 7}, {7, 7, 7, 8});
    BOOST_TEST(one.p == 1.0);
    // Two values, all of one on one side: 2 of C(8,4).
    BOOST_TEST(test_shift({7, 7, 7, 7}, {8, 8, 8, 8}).p == 2.0 / 70,
               boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(the_normal_distribution_takes_over_where_counting_ends) {
    std::mt19937_64 random(7);
    int false_alarms = 0;
    int found = 0;
    for (int round = 0; round < 1000; ++round) {
        const auto before = drawn(random, 25, 0);
        false_alarms += test_shift(before, drawn(random, 25, 0)).p < 0.05 ? 1 : 0;
        found += test_shift(before, drawn(random, 25, 1)).p < 0.05 ? 1 : 0;
    }
    BOOST_TEST(false_alarms >= 25);
    BOOST_TEST(false_alarms <= 75);
    BOOST_TEST(found >= 850);
    BOOST_TEST(test_shift(std::vector<double>(25, 3.0), std::vector<double>(25, 3.0)).p == 1.0);
}

BOOST_AUTO_TEST_CASE(the_difference_is_the_median_of_all_differences_with_its_interval) {
    // Hollander & Wolfe: differences of {1,2,3,4,5} and {11,12,13,14,15} are 6 .. 14; 2 lie outside on each side (P(U <= 2) = 4/252
    // <= 0.025, P(U <= 3) = 7/252 > 0.025), so that the 3rd of 25 from either end bounds it.
    const ShiftTest test = test_shift({1, 2, 3, 4, 5}, {11, 12, 13, 14, 15});
    BOOST_TEST(test.difference == 10.0);
    BOOST_REQUIRE(test.interval.has_value());
    BOOST_TEST(test.interval->low == 7.0);
    BOOST_TEST(test.interval->high == 13.0);
    BOOST_TEST(!test_shift({1, 2, 3}, {4, 5, 6}).interval.has_value());
}

BOOST_AUTO_TEST_CASE(intervals_hold_the_true_difference_as_often_as_they_say) {
    std::mt19937_64 random(11);
    int held = 0;
    for (int round = 0; round < 1000; ++round) {
        const ShiftTest test = test_shift(drawn(random, 9, 5), drawn(random, 8, 6));
        held += test.interval->low <= 1 && 1 <= test.interval->high ? 1 : 0;
    }
    BOOST_TEST(held >= 930);
    BOOST_TEST(held <= 985);
}

BOOST_AUTO_TEST_CASE(holm_multiplies_by_the_tests_that_are_left) {
    const auto with = [](double p) { return ShiftTest{.p = p, .least_p = 0.001}; };
    const auto adjusted =
        adjusted_p({with(0.04), with(0.01), with(0.03), {.p = 0.3, .least_p = 0.3}});
    BOOST_TEST(adjusted[1] == 0.03, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(adjusted[2] == 0.06, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(adjusted[0] == 0.06,
               boost::test_tools::tolerance(1e-12));  // never below a smaller one
    BOOST_TEST(adjusted[3] == 0.3);                   // could not be significant: does not count
}

BOOST_AUTO_TEST_CASE(the_fewest_trials_grow_with_the_number_of_figures) {
    BOOST_TEST(fewest_trials(1) == 4u);     // 2/70
    BOOST_TEST(fewest_trials(100) == 8u);   // 2/12870 <= 0.0005
    BOOST_TEST(fewest_trials(1000) == 9u);  // 2/48620 <= 0.00005
}

// 40 figures a run, twice the same system: at least one is called different in no more than 5 % of the comparisons.
BOOST_AUTO_TEST_CASE(equal_runs_are_seldom_called_different) {
    std::mt19937_64 random(3);
    int different = 0;
    for (int round = 0; round < 400; ++round) {
        std::vector<std::vector<double>> before;
        std::vector<std::vector<double>> now;
        for (int figure = 0; figure < 40; ++figure) {
            before.push_back(drawn(random, 9, 100));
            now.push_back(drawn(random, 9, 100));
        }
        different += compare::compare(run_with(before), run_with(now)).figures.empty() ? 0 : 1;
    }
    BOOST_TEST(different <= 30);  // 20 expected at most; 30 is exceeded once in 70 such tests
    BOOST_TEST(different >= 4);   // and it is not deaf
}

BOOST_AUTO_TEST_CASE(the_detectable_difference_is_found_nineteen_times_in_twenty) {
    std::mt19937_64 random(5);
    double detectable_sum = 0;
    for (int round = 0; round < 200; ++round) {
        const auto same = compare::compare(run_with({drawn(random, 12, 100)}),
                                           run_with({drawn(random, 12, 100)}));
        for (const Figure& figure : same.unchanged) {
            detectable_sum += *figure.shift->detectable / 200;
        }
    }
    int found = 0;
    for (int round = 0; round < 400; ++round) {
        found += compare::compare(run_with({drawn(random, 12, 100)}),
                                  run_with({drawn(random, 12, 100 + detectable_sum)}))
                         .figures.empty()
                     ? 0
                     : 1;
    }
    BOOST_TEST(found >= 0.9 * 400, found);
    BOOST_TEST(detectable_sum < 2.2);  // the ideal test of normal values needs 1.5
}

BOOST_AUTO_TEST_CASE(a_difference_within_the_noise_floor_is_no_change) {
    const auto before = run_with({{10, 10.1, 10.2, 10.3, 10.4, 10.5}});
    const auto now = run_with({{11, 11.1, 11.2, 11.3, 11.4, 11.5}});
    BOOST_TEST(compare::compare(before, now).figures.size() == 1u);
    const auto quiet = run_with({{10.05, 10.15, 10.25, 10.35, 10.45, 10.55}});
    BOOST_TEST(compare::compare(before, now, noise_of({&before, &quiet})).figures.size() == 1u);
    const auto far = run_with({{8, 8.1, 8.2, 8.3, 8.4, 8.5}});
    const Noise noise = noise_of({&before, &quiet, &far});
    BOOST_TEST(noise.pairs == 3u);
    BOOST_TEST(noise.floors.at("s/c/f0") == 2.05, boost::test_tools::tolerance(1e-9));
    const auto found = compare::compare(before, now, noise);
    BOOST_TEST(found.figures.empty());
    BOOST_REQUIRE(found.unchanged.size() == 1u);
    BOOST_TEST(*found.unchanged[0].shift->detectable > 2.05);
}

BOOST_AUTO_TEST_CASE(too_few_trials_are_said_with_the_number_that_would_do) {
    const compare::Report before{"a", run_with({{1, 2, 3}, {1, 2, 3}})};
    const compare::Report now{"b", run_with({{4, 5, 6}, {1, 2, 3}})};
    const Compared compared{&now, compare::compare(before.run, now.run)};
    BOOST_TEST(compared.comparison.figures.empty());
    BOOST_TEST(compared.comparison.too_few_trials == 1u);
    const std::string said = text(before, compared);
    BOOST_TEST(said.find("1 figure: too few trials") != std::string::npos, said);
}

BOOST_AUTO_TEST_SUITE_END()
