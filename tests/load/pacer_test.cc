// The pacing is judged against a clock of the test's own, so that no busy machine can spoil it.
#include "dataplane/load/pacer.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

using namespace pathproof::load;
using namespace std::chrono_literals;
using pathproof::traffic::TscClock;

namespace {

constexpr std::uint64_t kHz = 2'693'671'000;
constexpr Tsc kStart = 987'654'321;
constexpr std::uint64_t kBurst = 32;

struct Departure {
    Tsc at = 0;
    std::uint64_t units = 0;
};

// Simulates a sender that looks at the clock every `least` to `most` cycles.
std::vector<Departure> simulate(Pacer& pacer, Tsc end, Tsc least, Tsc most, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_int_distribution<Tsc> turn(least, most);
    std::vector<Departure> departures;
    for (Tsc now = kStart - 1000; !pacer.finished(now); now += turn(random)) {
        if (pacer.paced()) {
            now = std::max(now, pacer.deadline());
        }
        if (now >= end) {
            break;
        }
        if (const std::uint64_t units = std::min(pacer.due(now), kBurst); units > 0) {
            pacer.take(units);
            departures.push_back({now, units});
        }
    }
    return departures;
}

Pacing rate(double units_per_second, unsigned sender = 0, unsigned senders = 1) {
    return {.units_per_second = units_per_second,
            .duration = std::chrono::hours(1),
            .sender = sender,
            .senders = senders};
}

std::vector<Departure> together(double units_per_second, unsigned senders, Nanoseconds time) {
    const TscClock clock(kHz);
    std::vector<Departure> all;
    for (unsigned sender = 0; sender < senders; ++sender) {
        Pacer pacer(rate(units_per_second, sender, senders), clock, kStart);
        const Tsc end = kStart + clock.ticks(time);
        const auto own = simulate(pacer, end, 300, 5'000, sender);
        all.insert(all.end(), own.begin(), own.end());
    }
    return all;
}

// The most and the least that left within a second, wherever on the millisecond it begins.
std::pair<std::uint64_t, std::uint64_t> busiest_and_calmest(const std::vector<Departure>& all) {
    std::vector<std::uint64_t> bins(1'200);
    for (const Departure& one : all) {
        bins.at((one.at - kStart) * 1'000 / kHz) += one.units;
    }
    std::uint64_t most = 0;
    std::uint64_t least = ~std::uint64_t{0};
    for (std::size_t from = 0; from + 1'000 <= bins.size(); ++from) {
        std::uint64_t sum = 0;
        for (std::size_t n = from; n < from + 1'000; ++n) {
            sum += bins[n];
        }
        most = std::max(most, sum);
        least = std::min(least, sum);
    }
    return {most, least};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(pacing)

BOOST_AUTO_TEST_CASE(every_second_has_its_frames_whatever_the_rate_and_the_number_of_lcores) {
    for (const double asked : {1e3, 9'999.0, 123'456.0, 1e6, 7'654'321.0, 14'880'952.0}) {
        for (const unsigned senders : {1u, 2u, 3u, 5u}) {
            const auto [most, least] = busiest_and_calmest(together(asked, senders, 1'199'999us));
            const double allowed = std::max(1.0, asked * 0.001);
            BOOST_TEST(std::abs(static_cast<double>(most) - asked) <= allowed,
                       asked << " on " << senders << ": " << most);
            BOOST_TEST(std::abs(static_cast<double>(least) - asked) <= allowed,
                       asked << " on " << senders << ": " << least);
        }
    }
}

BOOST_AUTO_TEST_CASE(there_is_no_burst_at_the_start) {
    for (const double asked : {1e3, 1e5, 2e6, 1e7}) {
        for (const unsigned senders : {1u, 4u}) {
            for (const Nanoseconds time : {20us, 100us, 1'000us}) {
                std::uint64_t units = 0;
                for (const Departure& one : together(asked, senders, time)) {
                    units += one.units;
                }
                const double most = std::ceil(asked * static_cast<double>(time.count()) / 1e9) + 1;
                BOOST_TEST(static_cast<double>(units) <= most, asked << " " << units);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(senders_take_turns_so_that_their_deadlines_are_those_of_one) {
    const TscClock clock(kHz);
    for (const double asked : {1e3, 333'333.0, 5e6}) {
        Pacer alone(rate(asked), clock, kStart);
        std::vector<Pacer> crew;
        for (unsigned sender = 0; sender < 3; ++sender) {
            crew.emplace_back(rate(asked, sender, 3), clock, kStart);
        }
        for (unsigned unit = 0; unit < 10'000; ++unit) {
            Pacer& turn = crew[unit % 3];
            BOOST_REQUIRE_LE(std::max(turn.deadline(), alone.deadline()) -
                                 std::min(turn.deadline(), alone.deadline()),
                             1u);
            alone.take(1);
            turn.take(1);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_deadline_after_hours_is_where_it_was_to_be) {
    const TscClock clock(3'000'000'000);
    Pacer pacer(rate(3e6), clock, kStart);  // 1000 cycles apart
    pacer.take(3'000'000ull * 3'599);
    BOOST_TEST(pacer.deadline() == kStart + 3'599ull * 3'000'000'000);
    BOOST_TEST(pacer.due(pacer.deadline() - 2) == 0u);
    BOOST_TEST(pacer.due(pacer.deadline() + 2) == 1u);
}

BOOST_AUTO_TEST_CASE(exactly_as_many_units_leave_as_are_asked_for) {
    const TscClock clock(kHz);
    for (const std::uint64_t units : {1ull, 2ull, 7ull, 1'000ull, 99'999ull}) {
        for (const double asked : {0.0, 5e5, 3e7}) {
            for (const unsigned senders : {1u, 2u, 3u, 16u}) {
                std::uint64_t left = 0;
                for (unsigned sender = 0; sender < senders; ++sender) {
                    Pacer pacer({.units_per_second = asked,
                                 .units = units,
                                 .sender = sender,
                                 .senders = senders},
                                clock, kStart);
                    for (const Departure& one : simulate(pacer, ~Tsc{0}, 100, 20'000, sender)) {
                        left += one.units;
                    }
                }
                BOOST_TEST(left == units, units << " at " << asked << " on " << senders);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(of_a_count_and_a_duration_the_first_to_end_counts) {
    const TscClock clock(kHz);
    const auto sent = [&](std::uint64_t units, Nanoseconds duration) {
        Pacer pacer({.units_per_second = 1e5, .units = units, .duration = duration}, clock, kStart);
        std::uint64_t left = 0;
        for (const Departure& one : simulate(pacer, ~Tsc{0}, 100, 5'000, 1)) {
            left += one.units;
        }
        return left;
    };
    BOOST_TEST(sent(500, 10ms) == 500u);
    BOOST_TEST(sent(5'000, 10ms) == 1'000u);
    BOOST_TEST(sent(0, 10ms) == 1'000u);
}

BOOST_AUTO_TEST_CASE(a_stall_is_not_followed_by_a_burst_and_what_it_cost_is_counted) {
    const TscClock clock(kHz);
    const Tsc stall = clock.ticks(50ms);
    Pacer lasting({.units_per_second = 1e6, .duration = 100ms, .most_behind = 100}, clock, kStart);
    BOOST_TEST(lasting.due(kStart + stall) == 100u);
    BOOST_TEST(lasting.left_out() == 49'901u);
    lasting.take(100);
    BOOST_TEST(lasting.due(kStart + stall) == 0u);
    for (const Departure& one : simulate(lasting, ~Tsc{0}, 100, 5'000, 1)) {
        BOOST_TEST(one.units <= kBurst);
    }
    BOOST_TEST(lasting.taken() + lasting.left_out() == 100'000u);

    Pacer counted({.units_per_second = 1e6, .units = 60'000, .most_behind = 100}, clock, kStart);
    BOOST_TEST(counted.due(kStart + stall) == 100u);
    simulate(counted, ~Tsc{0}, 100, 5'000, 1);
    BOOST_TEST(counted.taken() == 60'000u);
}

BOOST_AUTO_TEST_CASE(a_stall_at_the_end_leaves_out_no_more_than_there_was) {
    const TscClock clock(kHz);
    const Tsc late = kStart + clock.ticks(10s);
    for (const Pacing& pacing :
         {Pacing{.units_per_second = 1e6, .units = 1'000, .most_behind = 100},
          Pacing{.units_per_second = 1e6, .duration = 1ms, .most_behind = 100}}) {
        Pacer pacer(pacing, clock, kStart);
        BOOST_TEST(pacer.due(late) == 100u);
        BOOST_TEST(pacer.left_out() == 900u);
    }
}

BOOST_AUTO_TEST_CASE(at_full_speed_all_is_due_until_the_time_is_over) {
    const TscClock clock(kHz);
    Pacer pacer({.duration = 1s}, clock, kStart);
    BOOST_TEST(pacer.due(kStart - 1) == 0u);
    BOOST_TEST(pacer.due(kStart) > 1'000'000u);
    BOOST_TEST(!pacer.finished(kStart + kHz - 1));
    BOOST_TEST(pacer.due(kStart + kHz) == 0u);
    BOOST_TEST(pacer.finished(kStart + kHz));
}

BOOST_AUTO_TEST_CASE(the_deadlines_in_a_time_are_counted_without_the_end) {
    BOOST_TEST(units_in(1s, 7e6) == 7'000'000u);
    BOOST_TEST(units_in(1s, 3.0) == 3u);
    BOOST_TEST(units_in(1ms, 1'500.0) == 2u);
    BOOST_TEST(units_in(1ns, 1.0) == 1u);
    BOOST_TEST(units_in(0ns, 1e6) == 0u);
}

BOOST_AUTO_TEST_CASE(windows_tell_the_worst_second) {
    const TscClock clock(1'000'000);
    RateWindows windows(clock, kStart, 1'000);
    for (unsigned n = 0; n < 1'000; ++n) {
        windows.note(kStart + n * 1'000, 1);
    }
    windows.note(kStart + 1'000'000, 990);
    windows.note(kStart + 2'000'000, 5);
    BOOST_TEST(windows.windows() == 2u);
    BOOST_TEST(windows.worst() == 0.01, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(without_a_rate_there_are_no_windows) {
    RateWindows windows;
    windows.note(kStart, 1'000'000);
    BOOST_TEST(windows.windows() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
