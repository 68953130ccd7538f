#include "harness/bench/statistics.h"

#include <boost/test/unit_test.hpp>

using namespace pathproof::bench;

BOOST_AUTO_TEST_SUITE(statistics)

BOOST_AUTO_TEST_CASE(the_median_is_the_middle_value_or_the_mean_of_two) {
    BOOST_TEST(spread_of({5, 1, 9})->median == 5);
    BOOST_TEST(spread_of({5, 1, 9, 7})->median == 6);
    BOOST_TEST(spread_of({3})->median == 3);
    BOOST_TEST(!spread_of({}).has_value());
}

BOOST_AUTO_TEST_CASE(the_spread_is_the_smallest_and_the_largest_value) {
    const auto spread = spread_of({5, 1, 9, 7});
    BOOST_TEST(spread->low == 1);
    BOOST_TEST(spread->high == 9);
    BOOST_TEST(spread->count == 4U);
}

BOOST_AUTO_TEST_CASE(a_ratio_is_that_of_the_medians_and_lies_in_its_interval) {
    const auto ratio = ratio_of({20, 22, 24, 26, 28}, {9, 10, 11, 12, 13});
    BOOST_REQUIRE(ratio);
    BOOST_TEST(ratio->value == 24.0 / 11);
    BOOST_REQUIRE(ratio->low);
    BOOST_TEST(*ratio->low < ratio->value);
    BOOST_TEST(*ratio->high > ratio->value);
    BOOST_TEST(*ratio->low >= 20.0 / 13);
    BOOST_TEST(*ratio->high <= 28.0 / 9);
}

BOOST_AUTO_TEST_CASE(values_without_spread_give_an_interval_of_one_point) {
    const auto ratio = ratio_of({2, 2, 2}, {1, 1, 1});
    BOOST_TEST(*ratio->low == 2);
    BOOST_TEST(*ratio->high == 2);
}

BOOST_AUTO_TEST_CASE(wider_values_give_a_wider_interval) {
    const auto narrow = ratio_of({100, 101, 102, 103, 104}, {100, 101, 102, 103, 104});
    const auto wide = ratio_of({60, 80, 102, 130, 150}, {60, 80, 102, 130, 150});
    BOOST_TEST(*wide->high - *wide->low > *narrow->high - *narrow->low);
}

BOOST_AUTO_TEST_CASE(the_same_values_give_the_same_interval) {
    const std::vector<double> above{3, 1, 4, 1, 5};
    const std::vector<double> below{2, 7, 1, 8, 2};
    BOOST_TEST(*ratio_of(above, below)->low == *ratio_of(above, below)->low);
}

BOOST_AUTO_TEST_CASE(two_values_give_a_ratio_without_an_interval) {
    const auto ratio = ratio_of({2, 4}, {1, 1, 1});
    BOOST_TEST(ratio->value == 3);
    BOOST_TEST(!ratio->low.has_value());
}

BOOST_AUTO_TEST_CASE(nothing_is_the_ratio_to_nothing_or_to_zero) {
    BOOST_TEST(!ratio_of({}, {1}).has_value());
    BOOST_TEST(!ratio_of({1}, {}).has_value());
    BOOST_TEST(!ratio_of({1}, {0}).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
