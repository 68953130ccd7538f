#include "dataplane/port/counter_rate.h"

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cmath>
#include <thread>

using namespace pathproof::port;

BOOST_AUTO_TEST_SUITE(counter_rate)

BOOST_AUTO_TEST_CASE(cycles_by_the_rate_are_the_time_of_the_other_clock) {
    const double hz = static_cast<double>(counter_hz());
    const ClockReading begin = read_clocks();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const ClockReading end = read_clocks();
    const auto passed = static_cast<double>(end.monotonic_ns - begin.monotonic_ns);
    const double counted = static_cast<double>(end.tsc - begin.tsc) * 1e9 / hz;
    BOOST_TEST(std::abs(counted / passed - 1) < 20e-6);
}

BOOST_AUTO_TEST_SUITE_END()
