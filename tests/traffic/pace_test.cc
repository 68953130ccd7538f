#include "dataplane/traffic/pace.h"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <memory>
#include <thread>

#include "dataplane/port/counter_rate.h"
#include "dataplane/traffic/departures.h"
#include "dataplane/traffic/rendezvous.h"

BOOST_AUTO_TEST_SUITE(pace)

using namespace pathproof::traffic;

BOOST_AUTO_TEST_CASE(a_schedule_does_not_drift) {
    const TscClock clock(2'600'000'000);
    const Schedule schedule(1000, clock, 3);
    BOOST_TEST(schedule.deadline(0) == 1000u);
    BOOST_TEST(schedule.deadline(3) == 1000u + 2'600'000'000);
    // A billion departures later the sum of a rounded interval would be off by a third of a second.
    BOOST_TEST(schedule.deadline(3'000'000'000) == 1000u + 2'600'000'000'000'000'000);
}

BOOST_AUTO_TEST_CASE(what_is_due_agrees_with_the_deadlines) {
    const TscClock clock(1'000'000'000);
    const Schedule schedule(500, clock, 1e6);
    BOOST_TEST(schedule.due(499) == 0u);
    BOOST_TEST(schedule.due(500) == 1u);
    BOOST_TEST(schedule.due(1499) == 1u);
    BOOST_TEST(schedule.due(1500) == 2u);
}

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
            const Tsc wake =
                tsc_now() + static_cast<Tsc>(clock.cycles(std::chrono::microseconds(400)));
            while (clock.nanoseconds(tsc_now(), wake) > kSpin.count()) {
                napper.nap(wake);
            }
            early += clock.nanoseconds(tsc_now(), wake) >= 0 ? 1 : 0;
            napper.found_work();
        }
    }
    BOOST_TEST(early > 25);
}

BOOST_AUTO_TEST_CASE(the_last_named_pair_goes_even_when_it_is_called_off_at_once) {
    for (int round = 0; round < 3000; ++round) {
        Rendezvous rendezvous;
        bool went = false;
        bool went_again = true;
        std::thread follower([&] {
            went = rendezvous.follow(0).has_value();
            went_again = rendezvous.follow(1).has_value();
        });
        rendezvous.lead(0, 0, 0);
        rendezvous.call_off();
        follower.join();
        BOOST_REQUIRE(went);
        BOOST_REQUIRE(!went_again);
    }
}

BOOST_AUTO_TEST_CASE(both_sides_learn_the_same_instant_no_earlier_than_the_notice) {
    Rendezvous rendezvous;
    std::optional<Tsc> followed;
    std::thread follower([&] { followed = rendezvous.follow(0); });
    const Tsc before = tsc_now();
    const Tsc led = rendezvous.lead(0, before, 5000);
    follower.join();
    BOOST_TEST((followed == led));
    BOOST_TEST(led >= before + 5000);
}

BOOST_AUTO_TEST_CASE(departures_are_summed_up_exactly) {
    const std::vector<std::int64_t> deadlines = {0, 0, 100'000, 100'000, 200'000, 200'000};
    const std::vector<std::int64_t> sent = {5, 25, 110'001, 109'901, kNeverSent, 200'000};
    const auto summary = summarize_departures(sent, deadlines, 1);
    BOOST_TEST(summary.sent == 5u);
    BOOST_TEST(summary.refused == 1u);
    BOOST_TEST(summary.late == 1u);
    BOOST_TEST(summary.worst_late_ns == 10'001);
    BOOST_TEST(summary.skew_p50_ns == -100);
    BOOST_TEST(summary.skew_p99_ns == 20);
}

BOOST_AUTO_TEST_SUITE_END()
