#include "harness/verdict/interval.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

using namespace pathproof::verdict;

namespace {

struct Published {
    std::uint64_t hits;
    std::uint64_t trials;
    double low;
    double high;
};

// R. G. Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in
// Medicine 17 (1998), table I, method 3 (score, no continuity correction), four decimals.
const Published kNewcombe[] = {
    {81, 263, 0.2553, 0.3662},
    {15, 148, 0.0624, 0.1605},
    {1, 29, 0.0061, 0.1718},
};

}  // namespace

BOOST_AUTO_TEST_CASE(intervals_agree_with_newcombes_table) {
    for (const Published& row : kNewcombe) {
        const Interval interval = fraction_interval(row.hits, row.trials);
        BOOST_TEST(std::abs(interval.low - row.low) < 0.00006, row.hits << " of " << row.trials);
        BOOST_TEST(std::abs(interval.high - row.high) < 0.00006, row.hits << " of " << row.trials);
    }
}

BOOST_AUTO_TEST_CASE(at_the_ends_the_rule_of_three_bounds_the_fraction) {
    const Interval none = fraction_interval(0, 20'000);
    BOOST_TEST(none.low == 0);
    BOOST_TEST(none.high == 3.0 / 20'000);
    const Interval all = fraction_interval(500, 500);
    BOOST_TEST(all.low == 1 - 3.0 / 500);
    BOOST_TEST(all.high == 1);
}

BOOST_AUTO_TEST_CASE(few_or_no_trials_stay_inside_zero_and_one) {
    for (const auto& [hits, trials] : {std::pair{0, 0}, {0, 1}, {1, 1}, {0, 2}, {2, 2}, {5, 3}}) {
        const Interval interval = fraction_interval(hits, trials);
        BOOST_TEST(interval.low == 0);
        BOOST_TEST(interval.high == 1);
    }
}

BOOST_AUTO_TEST_CASE(the_interval_holds_the_fraction_and_narrows_with_more_trials) {
    double width = 1;
    for (std::uint64_t trials : {4u, 40u, 400u, 4000u, 4'000'000u}) {
        const Interval interval = fraction_interval(trials / 4, trials);
        BOOST_TEST(interval.low < 0.25);
        BOOST_TEST(interval.high > 0.25);
        BOOST_TEST(interval.high - interval.low < width);
        width = interval.high - interval.low;
    }
}

BOOST_AUTO_TEST_CASE(a_share_is_in_percent_with_its_counts) {
    const Measure measure = share("raced_share", "pairs that raced", 99'952, 100'000);
    BOOST_TEST(measure.value.number() == 99.952);
    BOOST_TEST(measure.unit == "%");
    BOOST_TEST(measure.note == "99952 of 100000");
    BOOST_REQUIRE(measure.interval);
    BOOST_TEST(measure.interval->low > 99.9);
    BOOST_TEST(measure.interval->low < 99.952);
    BOOST_TEST(measure.interval->high > 99.952);
    BOOST_TEST(measure.interval->high < 100);
    const Bar bar = share_bar("pairs", 1, 4, Bar::Kind::kBad);
    BOOST_TEST(bar.value == 25);
    BOOST_TEST(bar.interval->high > 25);
}

BOOST_AUTO_TEST_CASE(a_share_of_nothing_was_not_measured) {
    const Measure measure = share("raced_share", "pairs that raced", 0, 0);
    BOOST_TEST(measure.value.is_null());
    BOOST_TEST(!measure.interval);
    BOOST_TEST(measure.note == "nothing was tried");
    BOOST_TEST(share("x", "x", 5, 3).value.is_null());
}

// Student's t of 3 degrees of freedom: 3.1824.
BOOST_AUTO_TEST_CASE(a_mean_has_students_interval) {
    const Measure mean = mean_of("m", "label", {1, 2, 3, 4}, "us");
    BOOST_TEST(mean.value.number() == 2.5);
    const double reach = 3.18245 * 1.290994 / 2;
    BOOST_TEST(std::abs(mean.interval->high - (2.5 + reach)) < 1e-4);
    BOOST_TEST(std::abs(mean.interval->low - (2.5 - reach)) < 1e-4);
    BOOST_TEST(!mean_of("m", "label", {1}, "").interval.has_value());
    BOOST_TEST(mean_of("m", "label", {}, "").value.is_null());
}
