// Claims of a healthy software NIC about frames that are bad in each layer.
#include <rte_mbuf_core.h>

#include <boost/test/unit_test.hpp>

#include "dataplane/judge/verifier.h"
#include "dataplane/softnic/soft_nic.h"
#include "tests/softnic/frames.h"
#include "tests/softnic/nic_frames.h"

using namespace pathproof;
using namespace pathproof::softnic;

BOOST_AUTO_TEST_SUITE(receive)

namespace {

Frame tunnelled(Field inner_field, std::uint16_t port = 4789) {
    const Frame inner = ethernet(0x0800, ipv4(6, tcp(4, 1000, 80, bytes(33), inner_field)));
    Frame segment = udp(4, 40000, port, vxlan(inner), Field::kRight);
    finish_udp(segment);
    return ethernet(0x0800, ipv4(17, segment));
}

RxResult received(const Frame& frame, const NicLimits& limits = {}) {
    SoftNic nic(limits);
    RxResult got;
    nic.receive(frame, got);
    return got;
}

RxClaim claim_about(const judge::ChecksumFinding& finding, const RxVerdict& verdict) {
    const bool ip = finding.layer.protocol == judge::Protocol::kIpv4;
    if (finding.layer.depth == judge::Depth::kOuter) {
        return ip ? verdict.outer_ip : verdict.outer_l4;
    }
    return ip ? verdict.ip : verdict.l4;
}

constexpr std::size_t kOuterIp = 14 + 10;
constexpr std::size_t kOuterUdp = 34 + 6;
constexpr std::size_t kInnerIp = 14 + 20 + 8 + 8 + 14 + 10;

constexpr RxVerdict kAllGood{RxClaim::kGood, RxClaim::kGood, RxClaim::kGood, RxClaim::kGood};

}  // namespace

BOOST_AUTO_TEST_CASE(a_right_tunnel_frame_is_good_in_all_layers) {
    BOOST_TEST((received(tunnelled(Field::kRight)).verdict == kAllGood));
}

BOOST_AUTO_TEST_CASE(each_layer_is_bad_for_itself) {
    Frame frame = tunnelled(Field::kRight);
    frame[kOuterIp] ^= 1;
    BOOST_TEST((received(frame).verdict ==
                RxVerdict{RxClaim::kGood, RxClaim::kGood, RxClaim::kBad, RxClaim::kGood}));
    frame = tunnelled(Field::kRight);
    frame[kOuterUdp] ^= 1;
    BOOST_TEST((received(frame).verdict ==
                RxVerdict{RxClaim::kGood, RxClaim::kGood, RxClaim::kGood, RxClaim::kBad}));
    BOOST_TEST((received(tunnelled(Field::kWrong)).verdict ==
                RxVerdict{RxClaim::kGood, RxClaim::kBad, RxClaim::kGood, RxClaim::kGood}));
    frame = tunnelled(Field::kRight);
    frame[kInnerIp] ^= 1;  // the outer UDP checksum covers it
    BOOST_TEST((received(frame).verdict ==
                RxVerdict{RxClaim::kBad, RxClaim::kGood, RxClaim::kGood, RxClaim::kBad}));
}

BOOST_AUTO_TEST_CASE(a_tunnel_on_an_unknown_port_is_plain_udp) {
    const RxVerdict verdict = received(tunnelled(Field::kWrong, 8223)).verdict;
    BOOST_TEST((verdict == RxVerdict{.ip = RxClaim::kGood, .l4 = RxClaim::kGood}));
    NicLimits limits;
    limits.vxlan_ports = {8223};
    BOOST_TEST((received(tunnelled(Field::kWrong, 8223), limits).verdict.l4 == RxClaim::kBad));
}

BOOST_AUTO_TEST_CASE(nothing_is_said_of_what_cannot_be_checked) {
    Frame frame = ethernet(0x0800, ipv4(17, udp(4, 1, 2, bytes(20), Field::kWrong)));
    BOOST_TEST((received(frame).verdict.l4 == RxClaim::kBad));
    frame[40] = frame[41] = 0;  // no checksum
    BOOST_TEST((received(frame).verdict.l4 == RxClaim::kUnknown));
    frame = ethernet(0x0800, ipv4(17, udp(4, 1, 2, bytes(20), Field::kWrong)));
    frame[20] = 0x20;  // more fragments
    BOOST_TEST((received(frame).verdict.l4 == RxClaim::kUnknown));
    BOOST_TEST((received(ethernet(0x0800, ipv4(1, icmp_echo(bytes(9))))).verdict ==
                RxVerdict{.ip = RxClaim::kGood}));
    BOOST_TEST(
        (received(ethernet(0x86dd, ipv6(6, tcp(6, 1, 2, bytes(5), Field::kRight)))).verdict ==
         RxVerdict{.l4 = RxClaim::kGood}));
    BOOST_TEST((received(ethernet(0x0806, bytes(28))).verdict == RxVerdict{}));
    BOOST_TEST((received(Frame{1, 2, 3}).verdict == RxVerdict{}));
}

BOOST_AUTO_TEST_CASE(the_claims_agree_with_the_judge_on_spoilt_frames) {
    NicFrames draw(21);
    SoftNic nic;
    RxResult got;
    const auto tunnels = frame::TunnelPorts::well_known();
    std::uint64_t bad_frames = 0;
    for (int count = 0; count < 20'000; ++count) {
        Frame frame = in_software(draw.any());
        frame[14 + draw.below(frame.size() - 14)] ^= static_cast<std::uint8_t>(1 + draw.below(255));
        const judge::FrameVerdict verdict = judge::verify_slowly(frame, tunnels);
        const frame::FrameView view = frame::parse_frame(frame, tunnels);
        const bool torn_tunnel = view.to_tunnel && !view.has_inner;  // plain to a NIC
        if (verdict.malformed != judge::Malformed::kNone || torn_tunnel) {
            continue;
        }
        nic.receive(frame, got);
        bool bad = false;
        for (const judge::ChecksumFinding& finding : verdict.all()) {
            const RxClaim claim = claim_about(finding, got.verdict);
            if (claim == RxClaim::kUnknown) {
                continue;
            }
            // The judge asks whether a right sender puts that value there, a receiver whether it
            // sums up: 0 and 0xffff are the same to it.
            const bool same_sum = finding.wire % 0xffff == finding.right % 0xffff;
            BOOST_REQUIRE((claim == RxClaim::kGood) ==
                          (finding.state == judge::ChecksumState::kGood || same_sum));
            bad |= claim == RxClaim::kBad;
        }
        bad_frames += bad ? 1 : 0;
    }
    BOOST_TEST(bad_frames > 5000u);
    BOOST_TEST(nic.counters().rx_csum_bad == bad_frames);
}

BOOST_AUTO_TEST_CASE(counters_count_each_layer_and_each_frame_once) {
    SoftNic nic;
    RxResult got;
    Frame frame = tunnelled(Field::kRight);
    frame[kInnerIp] ^= 1;
    frame[kOuterIp] ^= 1;
    nic.receive(frame, got);
    nic.receive(tunnelled(Field::kRight), got);
    const NicCounters& counters = nic.counters();
    BOOST_TEST(counters.rx_frames == 2u);
    BOOST_TEST(counters.rx_csum_bad == 1u);
    BOOST_TEST(counters.rx_ip_csum_bad == 1u);
    BOOST_TEST(counters.rx_outer_ip_csum_bad == 1u);
    BOOST_TEST(counters.rx_outer_l4_csum_bad == 1u);
    BOOST_TEST(counters.rx_l4_csum_bad == 0u);
}

BOOST_AUTO_TEST_CASE(verdicts_become_the_flags_of_an_mbuf_and_come_back) {
    const RxVerdict verdict{RxClaim::kBad, RxClaim::kGood, RxClaim::kBad, RxClaim::kBad};
    BOOST_TEST(mbuf_flags(verdict) ==
               (RTE_MBUF_F_RX_IP_CKSUM_BAD | RTE_MBUF_F_RX_L4_CKSUM_GOOD |
                RTE_MBUF_F_RX_OUTER_IP_CKSUM_BAD | RTE_MBUF_F_RX_OUTER_L4_CKSUM_BAD));
    BOOST_TEST((verdict_of(mbuf_flags(verdict)) == verdict));
    BOOST_TEST(mbuf_flags({.ip = RxClaim::kNone}) == RTE_MBUF_F_RX_IP_CKSUM_NONE);
    BOOST_TEST((verdict_of(RTE_MBUF_F_RX_L4_CKSUM_NONE) == RxVerdict{.l4 = RxClaim::kNone}));
}

BOOST_AUTO_TEST_SUITE_END()
