#include "harness/acceptance/units.h"

#include <boost/test/unit_test.hpp>

using pathproof::acceptance::factor;

BOOST_AUTO_TEST_SUITE(units)

BOOST_AUTO_TEST_CASE(one_unit_becomes_another_of_the_same_kind) {
    BOOST_TEST(factor("ms", "us").value_or(0) == 1000, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(factor("frames/s", "Mframes/s").value_or(0) == 1e-6,
               boost::test_tools::tolerance(1e-12));
    BOOST_TEST(factor("Gbit/s", "Mbit/s").value_or(0) == 1000, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(an_unknown_unit_is_itself_and_nothing_else) {
    BOOST_TEST(factor("cycles", "cycles").value_or(0) == 1);
    BOOST_TEST(factor("", "").value_or(0) == 1);
    BOOST_TEST(!factor("cycles", "ns").has_value());
}

BOOST_AUTO_TEST_CASE(a_time_is_no_rate) {
    BOOST_TEST(!factor("us", "frames/s").has_value());
    BOOST_TEST(!factor("%", "").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
