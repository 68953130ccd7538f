#include "harness/truth/trail.h"

#include <boost/test/unit_test.hpp>

#include "tests/contains.h"

BOOST_AUTO_TEST_SUITE(trail_suite)

using namespace pathproof;
using namespace pathproof::truth;
using pathproof::test::contains;

namespace {

// Frames of 30 rows by turns, of which two in three leave their checksum to the device.
std::vector<TrailFrame> frames_of(std::uint32_t count, std::uint32_t from) {
    std::vector<TrailFrame> frames;
    for (std::uint32_t i = 0; i < count; ++i) {
        frames.push_back({.row = (from + i) % 30, .probe = i / 30 % 3, .checksum = i % 3 != 0});
    }
    return frames;
}

WrongSum sum_of(std::uint8_t number, std::uint32_t wire, std::uint32_t right,
                std::optional<std::uint32_t> before = std::nullopt) {
    return {.place = "plain.tcp",
            .wire = wire,
            .right = right,
            .before = before,
            .frame = matrix::FrameBytes(60, number)};
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_second_of_the_frames_that_leave_a_checksum_is_found_among_them) {
    Trail trail;
    std::uint64_t made = 0;
    for (std::uint32_t setting = 0; setting < 3; ++setting) {
        trail.stretches.push_back(frames_of(300, setting * 7));
        for (TrailFrame& frame : trail.stretches.back()) {
            made += frame.checksum ? 1 : 0;
            frame.fate = frame.checksum && made % 2 == 0 ? Fate::kChanged : Fate::kRight;
        }
    }
    const auto found = find_in_time(trail, Fate::kChanged);
    BOOST_REQUIRE(found.has_value());
    BOOST_TEST(
        found->text() ==
        "frames whose checksum is left to it: every 2nd of 600 wrong; 300 others: none (below "
        "1 in 100 at 95 %)");
    BOOST_TEST(found->varies);
    BOOST_TEST(!find_in_time(trail, Fate::kMissing).has_value());
}

BOOST_AUTO_TEST_CASE(frames_that_are_wrong_by_their_kind_do_not_vary_in_time) {
    Trail trail;
    for (int setting = 0; setting < 4; ++setting) {
        trail.stretches.push_back(frames_of(300, 0));
        for (TrailFrame& frame : trail.stretches.back()) {
            frame.fate = frame.row % 7 == 3 ? Fate::kChanged : Fate::kRight;
        }
    }
    const auto found = find_in_time(trail, Fate::kChanged);
    BOOST_REQUIRE(found.has_value());
    BOOST_TEST(!found->varies, found->text());
}

BOOST_AUTO_TEST_CASE(one_in_many_has_a_rate_and_says_what_the_others_exclude) {
    Trail trail;
    for (int setting = 0; setting < 4; ++setting) {
        trail.stretches.push_back(frames_of(900, 0));
    }
    trail.stretches[1][400].fate = Fate::kChanged;
    trail.stretches[3][401].fate = Fate::kChanged;
    const auto found = find_in_time(trail, Fate::kChanged);
    BOOST_REQUIRE(found.has_value());
    BOOST_TEST(found->varies);
    BOOST_TEST(contains(found->text(), "2 of 2400, 1 in 1200 (95 %:"), found->text());
    BOOST_TEST(contains(found->text(), "1200 others: none (below 1 in 400 at 95 %)"),
               found->text());
}

BOOST_AUTO_TEST_CASE(a_wrong_value_that_stands_in_one_relation_to_the_right_one_is_named_by_it) {
    struct Case {
        std::vector<WrongSum> sums;
        const char* name;  // empty: none
    };
    const std::vector<Case> cases = {
        {{sum_of(1, 0x1200, 0x1000), sum_of(2, 0x0233, 0x0033), sum_of(3, 0x01ff, 0xfffe)},
         "OFFSET(+0x0200)"},
        {{sum_of(1, 0x0fff, 0x1000), sum_of(2, 0x0032, 0x0033), sum_of(3, 0x7776, 0x7777)},
         "OFFSET(-0x0001)"},
        {{sum_of(1, 0x5a17, 0x1000), sum_of(2, 0x5a17, 0x0033), sum_of(3, 0x5a17, 0x7777)},
         "CONSTANT(0x5a17)"},
        {{sum_of(1, 0x1810, 0x1000), sum_of(2, 0x0823, 0x0033), sum_of(3, 0x7f67, 0x7777)},
         "BITS(0x0810)"},
        {{sum_of(1, 0xbeef, 0x1000, 0xbeef), sum_of(2, 0x1000, 0x0033, 0x1000),
          sum_of(3, 0x0033, 0x7777, 0x0033)},
         "FRAME_BEFORE"},
        // One does not fit, and two frames are too few.
        {{sum_of(1, 0x1200, 0x1000), sum_of(2, 0x0233, 0x0033), sum_of(3, 0x0200, 0xfffe)}, ""},
        {{sum_of(1, 0x1200, 0x1000), sum_of(2, 0x0233, 0x0033)}, ""},
        {{sum_of(1, 0x1200, 0x1000), sum_of(1, 0x1200, 0x1000), sum_of(1, 0x1200, 0x1000)}, ""},
    };
    for (const Case& each : cases) {
        const auto relation = relation_of(each.sums);
        BOOST_TEST((relation ? relation->name : "") == each.name);
    }
}

BOOST_AUTO_TEST_SUITE_END()
