#include "dataplane/traffic/pace.h"

#include <boost/test/unit_test.hpp>
#include <chrono>

#include "dataplane/port/counter_rate.h"

BOOST_AUTO_TEST_SUITE(pace)

using namespace pathproof::traffic;

BOOST_AUTO_TEST_CASE(time_and_cycles_convert_both_ways_with_their_sign) {
    const TscClock clock(2'500'000'000);
    BOOST_TEST(clock.cycles(Nanoseconds(-400)) == -1000);
    BOOST_TEST(clock.nanoseconds(2000, 1000) == -400);
    BOOST_TEST(clock.nanoseconds(1000, 3'500) == 1000);
}

BOOST_AUTO_TEST_CASE(the_clock_of_this_machine_has_the_rate_measured_here) {
    BOOST_TEST(TscClock::of_this_machine().hz() ==
               static_cast<double>(pathproof::port::counter_hz()));
}

BOOST_AUTO_TEST_CASE(a_spin_ends_at_its_deadline_and_not_before) {
    const Tsc deadline = tsc_now() + 100'000;
    BOOST_TEST(spin_until(deadline) >= deadline);
    BOOST_TEST(spin_until(deadline - 50'000) >= deadline);
}

BOOST_AUTO_TEST_CASE(a_nap_never_passes_the_spin_before_its_end) {
    const TscClock clock = TscClock::of_this_machine();
    const Promptness prompt;
    Napper napper(clock);
    // A busy machine may hold the thread up for most of a round, and hardly for all of ten.
    int early = 0;
    for (int round = 0; round < 10 && early <= 25; ++round) {
        early = 0;
        for (int n = 0; n < 50; ++n) {
            const Tsc wake = tsc_now() + clock.ticks(std::chrono::microseconds(400));
            while (clock.nanoseconds(tsc_now(), wake) > kSpin.count()) {
                napper.nap(wake);
            }
            early += clock.nanoseconds(tsc_now(), wake) >= 0 ? 1 : 0;
            napper.found_work();
        }
    }
    BOOST_TEST(early > 25);
}

BOOST_AUTO_TEST_SUITE_END()
