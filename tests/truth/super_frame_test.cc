// Segments of super-frames in the kernel's VXLAN tunnel.
#include "harness/truth/super_frame.h"

#include <boost/test/unit_test.hpp>

#include "dataplane/frame/template.h"

using namespace pathproof;
using namespace pathproof::truth;
using verdict::Observed;

namespace {

// A UDP super-frame of an inner packet in VXLAN, as a healthy NIC cuts it, and its payload.
struct Cut {
    std::vector<matrix::FrameBytes> frames;
    std::vector<std::uint8_t> payload;
};

constexpr std::uint16_t kMss = 100;

frame::FrameSpec in_vxlan(frame::ChecksumMode outer) {
    frame::FrameSpec spec;
    spec.packet.source = {frame::IpAddress::v4(0xc613fe01), 21000};
    spec.packet.destination = {frame::IpAddress::v4(0xc613fe02), 7000};
    spec.tunnel.emplace();
    spec.tunnel->vni = 45;
    spec.tunnel->outer.source = {frame::IpAddress::v4(0xc613ff01), 50000};
    spec.tunnel->outer.destination = {frame::IpAddress::v4(0xc613ff02), 4789};
    spec.tunnel->outer.transport_checksum = outer;
    return spec;
}

matrix::FrameBytes bytes_of(const frame::FrameSpec& spec) {
    const auto made = frame::FrameTemplate::make(spec);
    BOOST_REQUIRE_MESSAGE(made, made.error().message);
    matrix::FrameBytes bytes(made->size());
    made->render(bytes.data(), {});
    return bytes;
}

Cut cut(frame::ChecksumMode outer, frame::ChecksumMode inner = frame::ChecksumMode::kSoftware) {
    Cut made;
    for (std::size_t at = 0; at < 3 * kMss + 7; ++at) {
        made.payload.push_back(static_cast<std::uint8_t>(at * 5 + 1));
    }
    for (std::size_t at = 0; at < made.payload.size(); at += kMss) {
        frame::FrameSpec spec = in_vxlan(outer);
        const auto number = static_cast<std::uint16_t>(at / kMss);
        spec.packet.identification = number;
        spec.tunnel->outer.identification = number;
        spec.packet.transport_checksum = inner;
        const std::size_t end = std::min(at + kMss, made.payload.size());
        spec.payload.assign(made.payload.begin() + static_cast<std::ptrdiff_t>(at),
                            made.payload.begin() + static_cast<std::ptrdiff_t>(end));
        made.frames.push_back(bytes_of(spec));
    }
    return made;
}

SegmentTally judged(const Cut& made, OuterSum outer, WireKind wire = WireKind::kCable) {
    SegmentTally tally{.sent = 1};
    judge_super_frame(made.frames, made.payload, kMss, outer, wire, tally);
    return tally;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(super_frame, *boost::unit_test::label("unit"))

BOOST_AUTO_TEST_CASE(segments_in_a_tunnel_that_are_all_right_are_right) {
    using frame::ChecksumMode;
    const SegmentTally tally = judged(cut(ChecksumMode::kSoftware), OuterSum::kComputed);
    BOOST_TEST(tally.wrong == 0u, tally.explanation);
    BOOST_TEST(tally.frames == 4u);
    BOOST_TEST(tally.seen == 4u);
    BOOST_TEST((tally.observed(WireKind::kCable) == Observed::kRight));
    BOOST_TEST(judged(cut(ChecksumMode::kZero), OuterSum::kZero).wrong == 0u);
}

BOOST_AUTO_TEST_CASE(an_outer_checksum_that_is_not_as_it_was_set_is_wrong) {
    using frame::ChecksumMode;
    const SegmentTally zero = judged(cut(ChecksumMode::kZero), OuterSum::kComputed);
    BOOST_TEST(zero.names.at("ZERO(outer.udp)") == 4u);
    const SegmentTally there = judged(cut(ChecksumMode::kSoftware), OuterSum::kZero);
    BOOST_TEST(there.names.at("NOT_ZERO(outer.udp)") == 4u);
}

BOOST_AUTO_TEST_CASE(a_segment_that_is_missing_or_changed_is_wrong) {
    Cut made = cut(frame::ChecksumMode::kSoftware);
    made.frames.erase(made.frames.begin() + 1);
    BOOST_TEST(judged(made, OuterSum::kComputed).names.contains("MISSING"));
    made = cut(frame::ChecksumMode::kSoftware);
    made.frames.back().back() ^= 1;
    BOOST_TEST(judged(made, OuterSum::kComputed).wrong > 0u);
    made.frames.clear();
    BOOST_TEST((judged(made, OuterSum::kComputed).observed(WireKind::kCable) == Observed::kWrong));
}

BOOST_AUTO_TEST_CASE(unfinished_segments_are_by_design_in_memory_and_wrong_on_a_cable) {
    const Cut made = cut(frame::ChecksumMode::kZero, frame::ChecksumMode::kPseudo);
    const SegmentTally memory = judged(made, OuterSum::kZero, WireKind::kMemory);
    BOOST_TEST(memory.wrong == 0u, memory.explanation);
    BOOST_TEST(memory.unfinished == 4u);
    BOOST_TEST((memory.observed(WireKind::kMemory) == Observed::kByDesign));
    const SegmentTally cable = judged(made, OuterSum::kZero);
    BOOST_TEST((cable.observed(WireKind::kCable) == Observed::kWrong));
}

BOOST_AUTO_TEST_CASE(a_super_frame_handed_over_whole_is_cut_by_a_healthy_nic) {
    Cut made = cut(frame::ChecksumMode::kZero);
    frame::FrameSpec spec = in_vxlan(frame::ChecksumMode::kZero);
    spec.payload = made.payload;
    spec.packet.transport_checksum = frame::ChecksumMode::kPseudo;
    made.frames = {bytes_of(spec)};
    const SegmentTally tally = judged(made, OuterSum::kZero, WireKind::kMemory);
    BOOST_TEST(tally.wrong == 0u, tally.explanation);
    BOOST_TEST(tally.uncut == 1u);
    BOOST_TEST(tally.seen == 4u);
    BOOST_TEST(judged(made, OuterSum::kZero).wrong > 0u);  // on a cable it is no segment
}

BOOST_AUTO_TEST_SUITE_END()
