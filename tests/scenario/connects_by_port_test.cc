#include "harness/scenario/service_path/connects_by_port.h"

#include <boost/test/unit_test.hpp>

using pathproof::scenario::ConnectsByPort;

BOOST_AUTO_TEST_SUITE(connects_by_port)

BOOST_AUTO_TEST_CASE(a_port_that_two_had_is_of_the_one_that_had_it_then) {
    const ConnectsByPort began({{.start_ns = 100, .port = 7}, {.start_ns = 500, .port = 7}});
    BOOST_TEST(began.at(7, 101).value() == 0U);
    BOOST_TEST(began.at(7, 499).value() == 0U);
    BOOST_TEST(began.at(7, 500).value() == 1U);
    BOOST_TEST(began.at(7, 9'000).value() == 1U);
}

BOOST_AUTO_TEST_CASE(another_clock_does_not_hide_the_only_one_of_a_port) {
    const ConnectsByPort began({{.start_ns = 100, .port = 7}});
    BOOST_TEST(began.at(7, 3).value() == 0U);
    BOOST_TEST(!began.at(8, 100));
}

BOOST_AUTO_TEST_SUITE_END()
