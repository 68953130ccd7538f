// Ends of a run's own packets on the DUT, from what was followed.
#include "harness/scenario/own_ends.h"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(own_ends_of)

using namespace pathproof;
using fate::Direction;
using fate::Ending;
using scenario::own_ends;

namespace {

fate::EndCount dropped(const char* netns, const char* cause, std::uint64_t packets,
                       Direction direction = Direction::kThere) {
    return {.direction = direction,
            .end = {.ending = Ending::kDropped,
                    .cause = cause,
                    .text = std::string("by ") + cause,
                    .device = "d0",
                    .netns = netns},
            .packets = packets};
}

}  // namespace

BOOST_AUTO_TEST_CASE(only_what_this_host_dropped_in_this_direction_counts) {
    const fate::Fates fates{
        .netns = "dut",
        .ends = {dropped("dut", "rule", 2),
                 dropped("server", "no-socket", 9),
                 dropped("dut", "tc-egress", 5),
                 dropped("dut", "rule", 7, Direction::kBack),
                 dropped("dut", "xdp", 4),
                 {.end = {.ending = Ending::kDelivered, .netns = "dut"}, .packets = 90}}};
    const auto ends = own_ends(fates, Direction::kThere);
    BOOST_TEST(ends.by_packet());
    BOOST_TEST(ends.all() == 7U);
    BOOST_TEST(ends.by("rule") == 2U);
    BOOST_TEST(ends.by("no-socket") == 0U);
    BOOST_TEST(causes(ends) == "tc-egress+rule-drop");
    BOOST_TEST(in_words(ends) == "5 dropped by tc-egress, device d0; 2 dropped by rule, device d0");
    BOOST_TEST(own_ends(fates, Direction::kBack).all() == 7U);
}

BOOST_AUTO_TEST_CASE(a_link_that_was_down_is_the_cause_of_what_found_no_way_out) {
    fate::Fates fates{.netns = "dut",
                      .ends = {dropped("dut", "no-route", 2), dropped("dut", "tc-egress", 1)}};
    fates.ends.push_back(
        {.end = {.ending = Ending::kHeld, .text = "for a neighbour", .netns = "dut"},
         .packets = 4});
    const auto ends = own_ends(fates, Direction::kThere);
    BOOST_TEST(ends.by("held") == 4U);
    BOOST_TEST(causes(ends, scenario::Link::kWasDown) == "link-down+tc-egress");
    BOOST_TEST(causes(ends, scenario::Link::kWasUp) == "held+no-route+tc-egress");
}

BOOST_AUTO_TEST_CASE(what_was_not_followed_whole_is_no_proof) {
    BOOST_TEST(!scenario::OwnEnds{}.by_packet());
    const auto why = [](const Result<fate::Fates>& fates) {
        return own_ends(fates, Direction::kThere).not_followed;
    };
    BOOST_TEST(why(fate::Fates{.not_followed = "no BTF"}) == "no BTF");
    BOOST_TEST(why(fate::Fates{.lost = 3}) == "3 packets could not be followed");
    BOOST_TEST(why(fail(ErrorCode::kUnavailable, "the agent died")) == "the agent died");
    BOOST_TEST(why(fate::Fates{}) == "");
}

BOOST_AUTO_TEST_SUITE_END()
