#include "harness/fate/tally.h"

#include <netinet/in.h>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(tally)

using namespace pathproof;
using fate::Direction;
using fate::Ending;

namespace {

const fate::Names kNames{.function = [](std::uint64_t) { return "there"; },
                         .reason = [](std::uint32_t) { return "TC_EGRESS"; },
                         .netns = [](std::uint32_t) { return "dut"; },
                         .device = [](std::uint32_t, std::uint32_t) { return "d0"; }};

fate_record record_of(std::uint16_t port, fate_end end, std::uint8_t flags = 0) {
    fate_record record{};
    record.first.family = 4;
    record.first.protocol = IPPROTO_UDP;
    record.first.source[0] = 10;
    record.first.source_port = port;
    record.last = record.first;
    record.last.source_port = 9;
    record.steps = 1;
    record.way[0].place = FATE_RECEIVED;
    record.end = static_cast<__u8>(end);
    record.flags = flags;
    record.begin_ns = 5;
    return record;
}

}  // namespace

BOOST_AUTO_TEST_CASE(ends_are_counted_by_direction_most_first) {
    fate::EndTally tally(10);
    tally.add(record_of(1, FATE_MERGED), kNames, 100);
    tally.add(record_of(2, FATE_FREED), kNames, 100);
    tally.add(record_of(3, FATE_FREED), kNames, 100);
    tally.add(record_of(4, FATE_FREED, FATE_IS_REPLY), kNames, 100);
    tally.add(record_of(5, FATE_FREED, FATE_IS_ERROR | FATE_IS_REPLY), kNames, 100);
    const fate::Fates fates = tally.take();
    BOOST_TEST(fates.packets == 5U);
    BOOST_REQUIRE(fates.ends.size() == 4U);
    BOOST_TEST(fates.ends[0].packets == 2U);
    BOOST_TEST(fates.ends[0].end.cause == "tc-egress");
    BOOST_TEST(fate::dropped(fates, Direction::kThere, "tc-egress") == 2U);
    BOOST_TEST(fate::dropped(fates, Direction::kBack, "tc-egress") == 1U);
    BOOST_TEST(fate::dropped(fates, Direction::kError, "tc-egress") == 1U);
    BOOST_TEST(fate::dropped(fates, Direction::kThere, "tc-ingress") == 0U);
    BOOST_REQUIRE(fates.each.size() == 5U);
    for (const fate::Packet& packet : fates.each) {
        BOOST_TEST((fates.ends.at(packet.end).direction == packet.direction));
        BOOST_TEST(packet.begin_ns == 105);
        BOOST_TEST(packet.last_source.port == 9);
        BOOST_TEST(!packet.made_here);
    }
    BOOST_TEST((fates.ends.at(fates.each[0].end).end.ending == Ending::kMerged));
    BOOST_TEST(frame::to_string(fates.each[0].source) == "10.0.0.0:1");
}

BOOST_AUTO_TEST_CASE(beyond_the_bound_only_drops_are_kept) {
    fate::EndTally tally(2);
    for (std::uint16_t i = 0; i < 5; ++i) {
        tally.add(record_of(i, FATE_MERGED), kNames, 0);
    }
    tally.add(record_of(7, FATE_FREED), kNames, 0);
    const fate::Fates fates = tally.take();
    BOOST_TEST(fates.packets == 6U);
    BOOST_TEST(fates.not_kept == 3U);
    BOOST_REQUIRE(fates.each.size() == 3U);
    BOOST_TEST(fates.each.back().source.port == 7);
}

BOOST_AUTO_TEST_SUITE_END()
