#include "harness/truth/batch.h"

#include <rte_mbuf_core.h>

#include <boost/test/unit_test.hpp>

using namespace pathproof;
using namespace pathproof::truth;
using matrix::FrameBytes;

BOOST_AUTO_TEST_SUITE(batch)

namespace {

// 12 bytes of addresses, a type, and `rest` bytes of 7.
FrameBytes frame_of(std::uint16_t type, std::size_t rest) {
    FrameBytes frame(14 + rest, 7);
    frame[12] = static_cast<std::uint8_t>(type >> 8);
    frame[13] = static_cast<std::uint8_t>(type);
    return frame;
}

}  // namespace

BOOST_AUTO_TEST_CASE(zeros_that_fill_a_frame_up_to_the_shortest_are_no_part_of_it) {
    const FrameBytes intended = frame_of(0x0800, 20);
    FrameBytes padded = intended;
    padded.resize(60, 0);
    BOOST_TEST((as_on_the_wire({.bytes = padded}, intended, TagType::kKept) == intended));
    padded.back() = 1;  // a leak of somebody's memory
    BOOST_TEST((as_on_the_wire({.bytes = padded}, intended, TagType::kKept) == padded));
    FrameBytes longer = frame_of(0x0800, 100);
    const FrameBytes shorter(longer.begin(), longer.end() - 1);
    longer.back() = 0;
    BOOST_TEST((as_on_the_wire({.bytes = longer}, shorter, TagType::kKept) == longer));
}

BOOST_AUTO_TEST_CASE(a_tag_that_the_driver_took_out_is_put_back) {
    const FrameBytes bare = frame_of(0x0800, 60);
    FrameBytes tagged = bare;
    const FrameBytes tag = {0x81, 0x00, 0x01, 0x02};
    tagged.insert(tagged.begin() + 12, tag.begin(), tag.end());
    const traffic::ArrivedFrame arrived{
        .bytes = bare,
        .mbuf_flags = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED,
        .vlan_tci = 0x0102};
    BOOST_TEST((as_on_the_wire(arrived, tagged, TagType::kKept) == tagged));
}

BOOST_AUTO_TEST_CASE(a_tag_type_that_the_driver_loses_is_held_against_nobody_else) {
    FrameBytes intended = frame_of(0x88a8, 60);
    const FrameBytes seen = frame_of(0x8100, 60);
    BOOST_TEST((as_on_the_wire({.bytes = seen}, intended, TagType::kLost) == intended));
    BOOST_TEST((as_on_the_wire({.bytes = seen}, intended, TagType::kKept) == seen));
    intended = frame_of(0x0800, 60);
    BOOST_TEST((as_on_the_wire({.bytes = seen}, intended, TagType::kLost) == seen));
}

BOOST_AUTO_TEST_SUITE_END()
