#include "dataplane/calibration/marker.h"

#include <boost/test/unit_test.hpp>

#include "dataplane/judge/verifier.h"

using namespace pathproof;
using namespace pathproof::calibration;

namespace {

constexpr std::size_t kHeaderChecksum = 24;
const matrix::ProbeMaker kMaker(matrix::software_nic_limits(), matrix::Direction::kTransmit, {}, 7);

matrix::Probe plain_udp() {
    auto probe = kMaker.make({.handover = matrix::Handover::kInner}, {0, 1});
    BOOST_REQUIRE_MESSAGE(probe, probe.error().message);
    return std::move(*probe);
}

judge::ChecksumFinding udp_of(const matrix::Probe& probe) {
    const judge::FrameVerdict verdict = judge::verify(probe.intended[0], probe.tunnels);
    return verdict.all().back();
}

std::uint16_t get(const matrix::FrameBytes& frame, std::size_t at) {
    return static_cast<std::uint16_t>(frame[at] << 8 | frame[at + 1]);
}
void put(matrix::FrameBytes& frame, std::size_t at, std::uint16_t value) {
    frame[at] = static_cast<std::uint8_t>(value >> 8);
    frame[at + 1] = static_cast<std::uint8_t>(value);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(markers)

BOOST_AUTO_TEST_CASE(what_the_nic_fills_in_is_marked_and_nothing_else) {
    matrix::Probe probe = plain_udp();
    const matrix::FrameBytes before = probe.handed[0].bytes;
    const std::size_t field = udp_of(probe).field_offset;
    mark_fields(probe);
    matrix::FrameBytes after = probe.handed[0].bytes;
    BOOST_TEST(get(after, field) == 0xbebe);
    BOOST_TEST(get(after, kHeaderChecksum) == 0xbebe);
    put(after, field, get(before, field));
    put(after, kHeaderChecksum, get(before, kHeaderChecksum));
    BOOST_TEST((after == before));
    auto software = kMaker.make({}, {0, 1});
    BOOST_REQUIRE(software);
    const matrix::FrameBytes finished = software->handed[0].bytes;
    mark_fields(*software);
    BOOST_TEST((software->handed[0].bytes == finished));
}

BOOST_AUTO_TEST_CASE(a_marker_that_is_the_right_value_by_chance_is_not_taken) {
    matrix::Probe probe = plain_udp();
    const std::size_t field = udp_of(probe).field_offset;
    // The word of data that makes the checksum come out as the first marker.
    const std::size_t data = field + 2;
    std::uint32_t word = get(probe.intended[0], data);
    word += get(probe.intended[0], field) + (0xbebeu ^ 0xffff);
    const auto tuned = static_cast<std::uint16_t>(word % 0xffff);
    put(probe.intended[0], data, tuned);
    put(probe.handed[0].bytes, data, tuned);
    put(probe.intended[0], field, 0xbebe);
    BOOST_REQUIRE(!judge::verify(probe.intended[0], probe.tunnels).any_bad());
    mark_fields(probe);
    BOOST_TEST(get(probe.handed[0].bytes, field) == 0xa5a5);
}

// The first segment's header has the 0 that was handed over, the other's has not.
BOOST_AUTO_TEST_CASE(a_field_that_is_right_in_one_segment_by_chance_is_marked) {
    auto probe = kMaker.make({.transport = matrix::InnerTransport::kTcp,
                              .segmentation = matrix::Segmentation::kTcpTwo,
                              .handover = matrix::Handover::kInner},
                             {0, 1});
    BOOST_REQUIRE_MESSAGE(probe, probe.error().message);
    BOOST_REQUIRE(get(probe->handed[0].bytes, kHeaderChecksum) == 0);
    put(probe->intended[0], kHeaderChecksum, 0);
    mark_fields(*probe);
    BOOST_TEST(get(probe->handed[0].bytes, kHeaderChecksum) != 0);
}

BOOST_AUTO_TEST_SUITE_END()
