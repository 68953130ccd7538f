// A healthy software NIC against the judge's byte-wise oracle and against frames made in software.
#include "dataplane/softnic/engine.h"

#include <rte_mbuf_core.h>

#include <boost/test/unit_test.hpp>
#include <string>

#include "dataplane/judge/verifier.h"
#include "dataplane/softnic/soft_nic.h"
#include "tests/how_many.h"
#include "tests/softnic/frames.h"
#include "tests/softnic/nic_frames.h"

using namespace pathproof;
using namespace pathproof::softnic;

BOOST_AUTO_TEST_SUITE(engine)

namespace {

constexpr frame::TunnelPorts kTunnels = frame::TunnelPorts::well_known();

std::string hex(Bytes bytes) {
    std::string text;
    for (const std::uint8_t byte : bytes) {
        text += fmt::format("{:02x}", byte);
    }
    return text;
}

bool any_claim_bad(const RxVerdict& verdict) {
    return (mbuf_flags(verdict) &
            (RTE_MBUF_F_RX_IP_CKSUM_BAD | RTE_MBUF_F_RX_L4_CKSUM_BAD |
             RTE_MBUF_F_RX_OUTER_IP_CKSUM_BAD | RTE_MBUF_F_RX_OUTER_L4_CKSUM_BAD)) != 0;
}

TxFrame tcp_frame(Field field) {
    TxFrame frame;
    frame.bytes = ethernet(0x0800, ipv4(6, tcp(4, 1000, 80, bytes(100), field)));
    return frame;
}

TxFrame tcp_request(std::uint64_t flags, std::uint16_t l2, std::uint16_t l3, std::uint16_t l4) {
    TxFrame frame = tcp_frame(Field::kPartial);
    frame.request.offload = {.mbuf_flags = flags, .l2_len = l2, .l3_len = l3, .l4_len = l4};
    return frame;
}

Refusal refusal_of(const TxFrame& frame, const NicLimits& limits = {}) {
    SoftNic nic(limits);
    TxResult sent;
    nic.transmit(frame, sent);
    BOOST_TEST(sent.frames.empty() == (sent.refusal != Refusal::kNone));
    BOOST_TEST(nic.counters().tx_refused == (sent.refusal != Refusal::kNone ? 1u : 0u));
    return sent.refusal;
}

constexpr std::uint64_t kTcp4 = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM;

}  // namespace

BOOST_AUTO_TEST_CASE(random_frames_of_all_kinds_leave_as_a_perfect_sender_sends_them) {
    NicFrames draw(1);
    SoftNic nic;
    TxResult sent;
    RxResult got;
    std::size_t with_request = 0;
    const std::size_t frames = test::how_many(100'000);
    for (std::size_t count = 0; count < frames; ++count) {
        const frame::FrameSpec spec = draw.any();
        TxFrame frame = handed_over(spec);
        frame.buffers = draw.buffers(frame.bytes.size());
        with_request += frame.request.offload.any() ? 1 : 0;
        nic.transmit(frame, sent);
        BOOST_REQUIRE_MESSAGE(sent.refusal == Refusal::kNone, sentence(sent.refusal)
                                                                  << ": " << hex(frame.bytes));
        BOOST_REQUIRE(sent.frames.size() == 1);
        BOOST_REQUIRE_MESSAGE(sent.frames[0] == in_software(spec), hex(sent.frames[0]));
        BOOST_REQUIRE_MESSAGE(!judge::verify_slowly(sent.frames[0], kTunnels).any_bad(),
                              hex(sent.frames[0]));
        nic.receive(sent.frames[0], got);
        BOOST_REQUIRE_MESSAGE(!any_claim_bad(got.verdict), hex(sent.frames[0]));
        BOOST_REQUIRE(got.bytes == sent.frames[0]);
    }
    BOOST_TEST(with_request > frames / 2);
    BOOST_TEST(nic.counters().rx_csum_bad == 0u);
    BOOST_TEST(nic.counters().tx_frames == frames);
}

BOOST_AUTO_TEST_CASE(what_software_left_in_a_field_does_not_matter) {
    NicFrames draw(2);
    SoftNic nic;
    TxResult sent;
    for (int count = 0; count < 2000; ++count) {
        const frame::FrameSpec spec = draw.offloaded();
        TxFrame frame = handed_over(spec);
        const WireFrameBytes right = in_software(spec);
        // The fields that differ are those left to the NIC: any marker may stand there.
        for (std::size_t at = 0; at < right.size(); ++at) {
            frame.bytes[at] = frame.bytes[at] == right[at] ? right[at] : 0xbe;
        }
        nic.transmit(frame, sent);
        BOOST_REQUIRE(sent.frames.size() == 1 && sent.frames[0] == right);
    }
}

BOOST_AUTO_TEST_CASE(without_a_request_no_byte_changes) {
    SoftNic nic;
    TxResult sent;
    for (const Field field : {Field::kRight, Field::kPartial, Field::kWrong}) {
        const TxFrame frame = tcp_frame(field);
        nic.transmit(frame, sent);
        BOOST_TEST((sent.frames.size() == 1 && sent.frames[0] == frame.bytes));
    }
}

BOOST_AUTO_TEST_CASE(tags_are_inserted_before_the_rest_is_done) {
    TxFrame frame = tcp_request(kTcp4 | RTE_MBUF_F_TX_VLAN, 14, 20, 20);
    frame.request.vlan_tci = 0x6123;
    SoftNic nic;
    TxResult sent;
    nic.transmit(frame, sent);
    const auto whole = tcp_frame(Field::kRight).bytes;
    BOOST_REQUIRE(sent.frames.size() == 1 && sent.frames[0].size() == whole.size() + 4);
    BOOST_TEST(raw::get(sent.frames[0], 12) == 0x8100);
    BOOST_TEST(raw::get(sent.frames[0], 14) == 0x6123);
    WireFrameBytes without = sent.frames[0];
    without.erase(without.begin() + 12, without.begin() + 16);
    BOOST_TEST((without == whole));

    frame.request.offload.mbuf_flags |= RTE_MBUF_F_TX_QINQ;
    frame.request.vlan_tci_outer = 0x0456;
    nic.transmit(frame, sent);
    BOOST_REQUIRE(sent.frames.size() == 1 && sent.frames[0].size() == whole.size() + 8);
    BOOST_TEST(raw::get(sent.frames[0], 12) == 0x88a8);
    BOOST_TEST(raw::get(sent.frames[0], 14) == 0x0456);
    BOOST_TEST(raw::get(sent.frames[0], 16) == 0x8100);
    BOOST_TEST(raw::get(sent.frames[0], 18) == 0x6123);
    BOOST_TEST(!judge::verify_slowly(sent.frames[0], kTunnels).any_bad());
}

BOOST_AUTO_TEST_CASE(requests_that_contradict_the_frame_are_refused) {
    BOOST_TEST((refusal_of(tcp_request(kTcp4, 14, 20, 20)) == Refusal::kNone));
    BOOST_TEST((refusal_of(tcp_request(kTcp4, 18, 20, 20)) == Refusal::kNoNetworkHeader));
    BOOST_TEST((refusal_of(tcp_request(kTcp4, 14, 24, 20)) == Refusal::kNoNetworkHeader));
    BOOST_TEST((refusal_of(tcp_request(RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_TCP_CKSUM, 14, 20, 20)) ==
                Refusal::kNoNetworkHeader));
    BOOST_TEST((refusal_of(tcp_request(RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM, 14, 20, 20)) ==
                Refusal::kNoTransportHeader));
    BOOST_TEST(
        (refusal_of(tcp_request(RTE_MBUF_F_TX_TCP_CKSUM, 14, 20, 20)) == Refusal::kFlagsConflict));
    BOOST_TEST((refusal_of(tcp_request(kTcp4 | RTE_MBUF_F_TX_IPV6, 14, 20, 20)) ==
                Refusal::kFlagsConflict));
    BOOST_TEST((refusal_of(tcp_request(kTcp4 | RTE_MBUF_F_TX_OUTER_UDP_CKSUM, 14, 20, 20)) ==
                Refusal::kFlagsConflict));
    BOOST_TEST(
        (refusal_of(tcp_request(kTcp4 | RTE_MBUF_F_TX_TUNNEL_MPLSINUDP | RTE_MBUF_F_TX_OUTER_IPV4,
                                14, 20, 20)) == Refusal::kUnknownTunnel));
    BOOST_TEST(
        (refusal_of(tcp_request(kTcp4 | RTE_MBUF_F_TX_TUNNEL_VXLAN | RTE_MBUF_F_TX_OUTER_IPV4, 14,
                                20, 20)) == Refusal::kNoNetworkHeader));
}

BOOST_AUTO_TEST_CASE(what_is_beyond_the_limits_is_refused) {
    TxFrame frame = tcp_frame(Field::kRight);
    BOOST_TEST((refusal_of(frame, {.longest_frame = 153}) == Refusal::kTooLong));
    BOOST_TEST((refusal_of(frame, {.longest_frame = 154}) == Refusal::kNone));
    frame.buffers = {50, 50, 54};
    BOOST_TEST((refusal_of(frame, {.most_buffers = 2}) == Refusal::kTooManyBuffers));
    BOOST_TEST((refusal_of(frame, {.most_buffers = 3}) == Refusal::kNone));
    frame.buffers = {50, 50};
    BOOST_TEST((refusal_of(frame) == Refusal::kNoFrame));
    frame.buffers.clear();
    frame.bytes.resize(13);
    BOOST_TEST((refusal_of(frame) == Refusal::kNoFrame));
}

BOOST_AUTO_TEST_CASE(a_fragments_transport_checksum_is_refused) {
    TxFrame frame = tcp_request(kTcp4, 14, 20, 20);
    frame.bytes[20] = 0x20;  // more fragments
    BOOST_TEST((refusal_of(frame) == Refusal::kFragment));
    frame.bytes[20] = 0;
    frame.bytes[21] = 0x10;
    BOOST_TEST((refusal_of(frame) == Refusal::kFragment));
}

BOOST_AUTO_TEST_CASE(each_refusal_says_what_to_do) {
    for (std::size_t reason = 1; reason < kRefusals; ++reason) {
        BOOST_TEST(std::string(sentence(static_cast<Refusal>(reason))).size() > 20u);
    }
}

BOOST_AUTO_TEST_CASE(torn_and_random_frames_harm_nobody) {
    NicFrames draw(3);
    SoftNic nic;
    TxResult sent;
    RxResult got;
    for (int count = 0; count < 20'000; ++count) {
        TxFrame frame = handed_over(draw.any());
        frame.bytes.resize(draw.below(frame.bytes.size() + 1));
        for (int flips = 0; flips < 3 && !frame.bytes.empty(); ++flips) {
            frame.bytes[draw.below(frame.bytes.size())] =
                static_cast<std::uint8_t>(draw.below(256));
        }
        // An exact allocation, so that a sanitizer sees a byte read beyond it.
        frame.bytes.shrink_to_fit();
        nic.transmit(frame, sent);
        nic.receive(frame.bytes, got);
    }
    BOOST_TEST(nic.counters().tx_refused > 100u);
}

BOOST_AUTO_TEST_SUITE_END()
