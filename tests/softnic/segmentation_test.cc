// Segments of TCP and UDP super-frames, plain and tunnelled, audited header by header with the
// frame reader of another room.
#include "dataplane/softnic/segmentation.h"

#include <rte_mbuf_core.h>

#include <boost/test/unit_test.hpp>

#include "dataplane/frame/view.h"
#include "dataplane/judge/verifier.h"
#include "dataplane/softnic/soft_nic.h"
#include "tests/softnic/frames.h"
#include "tests/softnic/nic_frames.h"

using namespace pathproof;
using namespace pathproof::softnic;

BOOST_AUTO_TEST_SUITE(segmentation)

namespace {

constexpr frame::TunnelPorts kTunnels = frame::TunnelPorts::well_known();

std::uint32_t long_at(const Frame& frame, std::size_t at) {
    return static_cast<std::uint32_t>(raw::get(frame, at)) << 16 | raw::get(frame, at + 2);
}

// Lengths, identification and hop limit of one IP packet in segment `number`.
void audit_network(const Frame& segment, const Frame& super, const frame::PacketView& packet,
                   std::size_t number) {
    const std::size_t at = packet.network_offset;
    if (packet.network == frame::Network::kIpv4) {
        BOOST_REQUIRE(raw::get(segment, at + 2) == packet.network_end - at);
        BOOST_REQUIRE(raw::get(segment, at + 4) ==
                      static_cast<std::uint16_t>(raw::get(super, at + 4) + number));
        BOOST_REQUIRE(raw::get(segment, at + 6) == raw::get(super, at + 6));
    } else {
        BOOST_REQUIRE(raw::get(segment, at + 4) == packet.network_end - at - 40);
    }
    if (packet.transport == frame::Transport::kUdp) {
        BOOST_REQUIRE(raw::get(segment, packet.transport_offset + 4) == packet.transport_length);
    }
}

void audit_tcp(const Frame& segment, const Frame& super, const frame::PacketView& packet,
               std::size_t offset, bool first, bool last) {
    const std::size_t at = packet.transport_offset;
    BOOST_REQUIRE(long_at(segment, at + 4) ==
                  static_cast<std::uint32_t>(long_at(super, at + 4) + offset));
    BOOST_REQUIRE(long_at(segment, at + 8) == long_at(super, at + 8));
    const unsigned kept = 0x10u | (last ? 0x09u : 0u) | (first ? 0x80u : 0u);
    BOOST_REQUIRE(segment[at + 13] == (super[at + 13] & kept));
}

// Gives the number of segments.
std::size_t audit(const frame::FrameSpec& spec, const TxFrame& super,
                  const std::vector<WireFrameBytes>& segments) {
    std::vector<std::uint8_t> payload;
    for (std::size_t number = 0; number < segments.size(); ++number) {
        const Frame& segment = segments[number];
        const auto verdict = judge::verify_slowly(segment, kTunnels);
        BOOST_REQUIRE(!verdict.any_bad() && verdict.malformed == judge::Malformed::kNone);
        const frame::FrameView view = frame::parse_frame(segment, kTunnels);
        BOOST_REQUIRE(view.has_inner == spec.tunnel.has_value());
        const frame::PacketView& packet = view.innermost();
        BOOST_REQUIRE(packet.network_end == segment.size());
        audit_network(segment, super.bytes, view.outer, number);
        audit_network(segment, super.bytes, packet, number);
        if (packet.transport == frame::Transport::kTcp) {
            audit_tcp(segment, super.bytes, packet, payload.size(), number == 0,
                      number + 1 == segments.size());
        }
        BOOST_REQUIRE(number + 1 == segments.size() ? packet.payload_length <= spec.segment_bytes
                                                    : packet.payload_length == spec.segment_bytes);
        const auto data = packet.payload(segment);
        payload.insert(payload.end(), data.begin(), data.end());
    }
    BOOST_REQUIRE(payload == spec.payload);
    return segments.size();
}

TxFrame tso_frame() {
    TxFrame frame;
    frame.bytes = ethernet(0x0800, ipv4(6, tcp(4, 1000, 80, bytes(300), Field::kPartial)));
    frame.request.offload = {
        .mbuf_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_TCP_SEG,
        .l2_len = 14,
        .l3_len = 20,
        .l4_len = 20,
        .segment_bytes = 100};
    return frame;
}

Refusal refusal_of(const TxFrame& frame) {
    SoftNic nic;
    TxResult sent;
    nic.transmit(frame, sent);
    return sent.refusal;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_segment_of_random_super_frames_has_its_own_right_headers) {
    NicFrames draw(11);
    SoftNic nic;
    TxResult sent;
    std::size_t segments = 0;
    for (int count = 0; count < 4000; ++count) {
        const frame::FrameSpec spec = draw.super();
        const TxFrame super = handed_over(spec);
        nic.transmit(super, sent);
        BOOST_REQUIRE_MESSAGE(sent.refusal == Refusal::kNone, sentence(sent.refusal));
        segments += audit(spec, super, sent.frames);
    }
    BOOST_TEST(segments > 8000u);
    BOOST_TEST(nic.counters().tx_super_frames == 4000u);
    BOOST_TEST(nic.counters().tx_frames == segments);
}

BOOST_AUTO_TEST_CASE(a_payload_of_whole_segments_has_no_empty_last_one) {
    SoftNic nic;
    TxResult sent;
    nic.transmit(tso_frame(), sent);
    BOOST_TEST(sent.frames.size() == 3u);
    TxFrame odd = tso_frame();
    odd.bytes = ethernet(0x0800, ipv4(6, tcp(4, 1000, 80, bytes(301), Field::kPartial)));
    nic.transmit(odd, sent);
    BOOST_REQUIRE(sent.frames.size() == 4u);
    BOOST_TEST(sent.frames[3].size() == 55u);
}

BOOST_AUTO_TEST_CASE(a_payload_within_one_segment_leaves_whole) {
    TxFrame frame = tso_frame();
    frame.request.offload.segment_bytes = 300;
    SoftNic nic;
    TxResult sent;
    nic.transmit(frame, sent);
    BOOST_REQUIRE(sent.frames.size() == 1u);
    BOOST_TEST(
        (sent.frames[0] == ethernet(0x0800, ipv4(6, tcp(4, 1000, 80, bytes(300), Field::kRight)))));
}

BOOST_AUTO_TEST_CASE(super_frames_that_cannot_be_cut_right_are_refused) {
    BOOST_TEST((refusal_of(tso_frame()) == Refusal::kNone));
    TxFrame frame = tso_frame();
    frame.request.offload.segment_bytes = 63;
    BOOST_TEST((refusal_of(frame) == Refusal::kMssMissing));
    frame = tso_frame();
    frame.request.offload.mbuf_flags &= ~RTE_MBUF_F_TX_IP_CKSUM;
    BOOST_TEST((refusal_of(frame) == Refusal::kIpChecksumMissing));
    frame = tso_frame();
    frame.request.offload.l4_len = 24;
    BOOST_TEST((refusal_of(frame) == Refusal::kNoTransportHeader));
    frame = tso_frame();
    frame.bytes.push_back(0);
    BOOST_TEST((refusal_of(frame) == Refusal::kTrailer));
    frame = tso_frame();
    frame.request.offload.mbuf_flags |= RTE_MBUF_F_TX_UDP_SEG;
    BOOST_TEST((refusal_of(frame) == Refusal::kFlagsConflict));
    frame = tso_frame();
    frame.bytes[20] = 0x20;
    BOOST_TEST((refusal_of(frame) == Refusal::kFragment));
}

BOOST_AUTO_TEST_CASE(a_tunnel_with_a_checksum_nobody_renews_is_refused) {
    NicFrames draw(12);
    frame::FrameSpec spec = draw.super();
    while (!spec.tunnel || spec.tunnel->kind != frame::Tunnel::kVxlan) {
        spec = draw.super();
    }
    spec.tunnel->outer.transport_checksum = frame::ChecksumMode::kOffload;
    TxFrame frame = handed_over(spec);
    BOOST_TEST((refusal_of(frame) == Refusal::kNone));
    frame.request.offload.mbuf_flags &= ~RTE_MBUF_F_TX_OUTER_UDP_CKSUM;
    BOOST_TEST((refusal_of(frame) == Refusal::kOuterChecksumMissing));
}

BOOST_AUTO_TEST_SUITE_END()
