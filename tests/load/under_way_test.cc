#include "dataplane/load/under_way.h"

#include <boost/test/unit_test.hpp>

using namespace pathproof::load;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kMs = 1'000'000;

// One stream, one receiving lcore, a time of 100 ms, a window of 8 frames.
struct Loop {
    Returns returns{1, 100ms};
    Window::Tallies tallies{&returns.of_stream(0)};
    Window window{8, 100ms, tallies, 1'000 * kMs};

    void comes_back(std::uint64_t now_ms, std::uint64_t sent_ms, std::uint64_t frames) {
        returns.note(0, now_ms * kMs, (now_ms - sent_ms) * kMs, frames);
    }
    void leaves(std::uint64_t now_ms, std::uint64_t frames) {
        window.note_sent(now_ms * kMs, frames);
    }
    std::uint64_t room(std::uint64_t now_ms) { return window.room(now_ms * kMs); }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(under_way)

BOOST_AUTO_TEST_CASE(what_has_left_takes_room_until_it_comes_back) {
    Loop loop;
    BOOST_TEST(loop.room(1'000) == 8U);
    loop.leaves(1'000, 5);
    BOOST_TEST(loop.room(1'001) == 3U);
    loop.leaves(1'001, 3);
    BOOST_TEST(loop.room(1'002) == 0U);
    loop.comes_back(1'003, 1'000, 4);
    BOOST_TEST(loop.room(1'003) == 4U);
    loop.comes_back(1'004, 1'000, 1);
    loop.comes_back(1'004, 1'001, 3);
    BOOST_TEST(loop.room(1'004) == 8U);
}

BOOST_AUTO_TEST_CASE(what_does_not_come_back_in_time_is_given_up_and_nothing_else) {
    Loop loop;
    loop.leaves(1'000, 4);
    loop.leaves(1'050, 4);
    loop.comes_back(1'020, 1'000, 1);
    BOOST_TEST(loop.room(1'100) == 1U);
    BOOST_TEST(loop.room(1'110) == 4U);  // the three of the first four
    BOOST_TEST(loop.room(1'149) == 4U);
    BOOST_TEST(loop.room(1'160) == 8U);
}

BOOST_AUTO_TEST_CASE(an_answer_that_comes_after_its_time_makes_no_room_twice) {
    Loop loop;
    loop.leaves(1'000, 8);
    BOOST_TEST(loop.room(1'110) == 8U);
    loop.comes_back(1'120, 1'000, 8);
    BOOST_TEST(loop.room(1'120) == 8U);
}

BOOST_AUTO_TEST_CASE(a_long_run_with_losses_keeps_the_window_exactly) {
    Loop loop;
    std::uint64_t sent = 0;
    for (std::uint64_t ms = 1'000; ms < 61'000; ++ms) {
        const std::uint64_t room = loop.room(ms);
        BOOST_REQUIRE(room <= 8U);
        loop.leaves(ms, room);
        sent += room;
        loop.comes_back(ms, ms, room - (room > 0 && ms % 20 == 0 ? 1 : 0));
    }
    // One frame in each 20 ms is lost and holds its place for some 105 ms: six places at most.
    BOOST_TEST(sent > 120'000U);
    BOOST_TEST(loop.room(62'000) == 8U);
}

BOOST_AUTO_TEST_CASE(a_sender_that_stood_still_for_long_has_all_its_room) {
    Loop loop;
    loop.leaves(1'000, 8);
    BOOST_TEST(loop.room(3'600'000) == 8U);
    loop.leaves(3'600'000, 8);
    BOOST_TEST(loop.room(3'600'001) == 0U);
    loop.comes_back(3'600'002, 3'600'000, 8);
    BOOST_TEST(loop.room(3'600'002) == 8U);
}

BOOST_AUTO_TEST_CASE(answers_may_come_in_at_several_lcores) {
    Returns one(2, 100ms);
    Returns other(2, 100ms);
    const Window::Tallies tallies{&one.of_stream(1), &other.of_stream(1)};
    Window window(8, 100ms, tallies, 0);
    window.note_sent(0, 8);
    one.note(1, kMs, kMs, 3);
    other.note(1, kMs, kMs, 4);
    other.note(0, kMs, kMs, 4);  // another sender's
    BOOST_TEST(window.room(kMs) == 7U);
}

BOOST_AUTO_TEST_CASE(a_new_trial_does_not_see_what_came_back_before_it) {
    Loop loop;
    loop.leaves(1'000, 8);
    loop.comes_back(1'001, 1'000, 8);
    Window next(8, 100ms, loop.tallies, 1'001 * kMs);
    BOOST_TEST(next.room(1'001 * kMs) == 8U);
    next.note_sent(1'001 * kMs, 8);
    BOOST_TEST(next.room(1'002 * kMs) == 0U);
    BOOST_TEST(next.room(1'110 * kMs) == 8U);
}

BOOST_AUTO_TEST_SUITE_END()
