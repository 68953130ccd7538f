#include "dataplane/judge/latency.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>
#include <vector>

BOOST_AUTO_TEST_SUITE(latency)

using pathproof::judge::LatencyHistogram;

BOOST_AUTO_TEST_CASE(nothing_counted_is_all_zero) {
    const auto summary = LatencyHistogram().summary();
    BOOST_TEST(summary.count == 0u);
    BOOST_TEST(summary.p99_ns == 0);
}

BOOST_AUTO_TEST_CASE(one_time_is_its_own_minimum_median_and_maximum) {
    LatencyHistogram histogram;
    histogram.add(123'456);
    const auto summary = histogram.summary();
    BOOST_TEST(summary.min_ns == 123'456);
    BOOST_TEST(summary.p50_ns == 123'456);
    BOOST_TEST(summary.p99_ns == 123'456);
    BOOST_TEST(summary.max_ns == 123'456);
}

BOOST_AUTO_TEST_CASE(
    every_time_from_a_hundred_nanoseconds_to_a_minute_is_off_by_less_than_two_percent) {
    for (double time = 100; time < 60e9; time *= 1.037) {
        LatencyHistogram histogram;
        const auto exact = static_cast<std::int64_t>(time);
        histogram.add(exact);
        histogram.add(60'000'000'000);  // so that the quantile is not held to what was seen
        histogram.add(0);
        const auto found = static_cast<double>(histogram.quantile_ns(0.5));
        BOOST_TEST(std::abs(found - time) <= std::max(0.016 * time, 100.0),
                   found << " for " << time);
    }
}

BOOST_AUTO_TEST_CASE(a_hundred_nanoseconds_are_told_apart) {
    LatencyHistogram histogram;
    histogram.add(1'000);
    histogram.add(1'100);
    histogram.add(1'200);
    BOOST_TEST(histogram.quantile_ns(0.3) < 1'100);
    BOOST_TEST(histogram.quantile_ns(0.5) >= 1'100);
    BOOST_TEST(histogram.quantile_ns(0.5) < 1'200);
}

BOOST_AUTO_TEST_CASE(quantiles_agree_with_the_sorted_times) {
    std::mt19937_64 random(7);
    std::lognormal_distribution<double> times(11, 1.5);
    LatencyHistogram histogram;
    std::vector<std::int64_t> all;
    for (int n = 0; n < 100'000; ++n) {
        all.push_back(static_cast<std::int64_t>(times(random)));
        histogram.add(all.back());
    }
    std::ranges::sort(all);
    for (const double share : {0.01, 0.5, 0.9, 0.99, 0.999}) {
        const auto exact = static_cast<double>(all[static_cast<std::size_t>(share * 1e5) - 1]);
        BOOST_TEST(static_cast<double>(histogram.quantile_ns(share)) == exact,
                   boost::test_tools::tolerance(0.02));
    }
    BOOST_TEST(histogram.summary().min_ns == all.front());
    BOOST_TEST(histogram.summary().max_ns == all.back());
}

BOOST_AUTO_TEST_CASE(times_out_of_range_are_counted_at_the_ends) {
    LatencyHistogram histogram;
    histogram.add(-5);
    histogram.add(INT64_MAX);
    BOOST_TEST(histogram.count() == 2u);
    BOOST_TEST(histogram.summary().min_ns == 0);
    BOOST_TEST(histogram.summary().max_ns == INT64_MAX);
}

BOOST_AUTO_TEST_CASE(merged_histograms_hold_the_times_of_both) {
    LatencyHistogram low;
    LatencyHistogram high;
    LatencyHistogram all;
    for (std::int64_t time = 100; time < 1'000'000; time += 731) {
        (time < 400'000 ? low : high).add(time);
        all.add(time);
    }
    low.merge(high);
    low.merge(LatencyHistogram());
    BOOST_TEST(low.count() == all.count());
    for (const double share : {0.0, 0.1, 0.5, 0.9, 1.0}) {
        BOOST_TEST(low.quantile_ns(share) == all.quantile_ns(share));
    }
    BOOST_TEST(low.min_ns() == all.min_ns());
    BOOST_TEST(low.max_ns() == all.max_ns());
    LatencyHistogram none;
    none.merge(all);
    BOOST_TEST(none.quantile_ns(0.5) == all.quantile_ns(0.5));
}

BOOST_AUTO_TEST_CASE(a_bias_is_taken_off_every_time_and_none_becomes_negative) {
    LatencyHistogram histogram;
    histogram.add(1'000);
    histogram.add(50'000);
    histogram.add(90'000);
    const LatencyHistogram shorter = histogram.less(2'000);
    BOOST_TEST(shorter.count() == 3u);
    BOOST_TEST(shorter.min_ns() == 0);
    BOOST_TEST(shorter.quantile_ns(0.5) == histogram.quantile_ns(0.5) - 2'000);
    BOOST_TEST(shorter.max_ns() == 88'000);
    BOOST_TEST(shorter.less(-2'000).max_ns() == 90'000);
    BOOST_TEST(LatencyHistogram().less(5).max_ns() == 0);
}

BOOST_AUTO_TEST_SUITE_END()
