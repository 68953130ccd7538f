// Frames that look as if they had a wrong checksum and have none, one by one: the judge raises no
// alarm.
#include <boost/test/unit_test.hpp>

#include "dataplane/frame/checksum.h"
#include "dataplane/judge/explain.h"
#include "tests/judge/every_kind.h"
#include "tests/judge/judged.h"

BOOST_AUTO_TEST_SUITE(look_alikes)

using namespace pathproof;
using namespace pathproof::judge;
using namespace pathproof::judged;

namespace {

constexpr frame::TunnelPorts kTunnels = frame::TunnelPorts::well_known();

bool quiet(const Octets& frame) {
    const bool alarm =
        verify(frame, kTunnels).any_bad() || verify_slowly(frame, kTunnels).any_bad();
    return !alarm;
}

ChecksumFinding finding(const Octets& frame, std::size_t index) {
    const FrameVerdict verdict = verify_slowly(frame, kTunnels);
    BOOST_REQUIRE(verdict.count > index);
    return verdict.findings[index];
}

// Changes the last two payload bytes so that the checksum computes to 0.
Octets computing_to_zero(Octets frame, std::size_t index) {
    put(frame, frame.size() - 2, 0);
    put(frame, frame.size() - 2, static_cast<std::uint16_t>(finding(frame, index).right));
    return frame;
}

}  // namespace

BOOST_AUTO_TEST_CASE(b2_b3_b10_a_udp_field_of_0_where_it_is_allowed) {
    raw::Random random(91);
    for (const Envelope envelope : {Envelope::kVxlan, Envelope::kVxlanOverIpv6}) {
        int off = 0;
        for (int i = 0; i < 40; ++i) {
            const Octets frame =
                frame_of({.envelope = envelope, .upper = Upper::kUdpZero, .payload = 20}, random);
            BOOST_TEST(quiet(frame));
            const FrameVerdict verdict = verify_slowly(frame, kTunnels);
            off += verdict.findings[envelope == Envelope::kVxlan ? 1 : 0].state ==
                           ChecksumState::kDisabled
                       ? 1
                       : 0;
            BOOST_TEST((verdict.findings[verdict.count - 1u].state == ChecksumState::kDisabled));
        }
        BOOST_TEST(off > 0);
    }
    // A field of 0 over IPv6 without a tunnel is wrong.
    Octets plain = frame_of({.net = Net::kIpv6, .payload = 20}, random);
    put(plain, 60, 0);
    BOOST_TEST(!quiet(plain));
}

BOOST_AUTO_TEST_CASE(b4_b5_b6_zeros_and_ones_by_protocol) {
    raw::Random random(92);
    Octets udp = computing_to_zero(frame_of({.payload = 20}, random), 1);
    put(udp, 40, 0xffff);
    BOOST_TEST(quiet(udp));
    Octets tcp = frame_of({.upper = Upper::kTcp, .payload = 20}, random);
    tcp = computing_to_zero(tcp, 1);
    for (const unsigned value : {0x0000u, 0xffffu}) {
        put(tcp, 50, static_cast<std::uint16_t>(value));
        BOOST_TEST(quiet(tcp));
    }
    Octets lite = frame_of({.upper = Upper::kUdpLite, .payload = 20}, random);
    put(lite, 38, 0);  // all of it covered
    lite = computing_to_zero(lite, 1);
    put(lite, 40, 0xffff);
    BOOST_TEST(quiet(lite));
    put(lite, 40, 0);  // RFC 3828: no way to switch it off
    BOOST_TEST(!quiet(lite));
    Octets ip = frame_of({.payload = 20}, random);
    put(ip, 18, 0);
    put(ip, 18, static_cast<std::uint16_t>(finding(ip, 0).right));
    put(ip, 24, 0x0000);
    BOOST_TEST(quiet(ip));
    put(ip, 24, 0xffff);
    BOOST_TEST(!quiet(ip));
}

BOOST_AUTO_TEST_CASE(b8_bytes_behind_udp_within_ip) {
    raw::Random random(93);
    Octets frame = frame_of({.payload = 20}, random);
    raw::append(frame, {1, 2, 3, 4});
    put(frame, 16, static_cast<std::uint16_t>(get(frame, 16) + 4));
    put(frame, 24, static_cast<std::uint16_t>(finding(frame, 0).right));
    BOOST_TEST(quiet(frame));
    BOOST_TEST((finding(frame, 1).state == ChecksumState::kGood));
}

BOOST_AUTO_TEST_CASE(b9_b22_a_super_packet_and_a_capture_cut_by_its_snap_length_claim_nothing) {
    raw::Random random(94);
    Octets frame = frame_of({.upper = Upper::kTcp, .payload = 1001}, random);
    frame.resize(300);
    put(frame, 50, 0x1234);
    BOOST_TEST(quiet(frame));
    BOOST_TEST((finding(frame, 1).state == ChecksumState::kUnverifiable));
}

BOOST_AUTO_TEST_CASE(b11_an_icmp_error_that_quotes_a_packet_with_a_wrong_checksum) {
    raw::Random random(95);
    Octets quoted = frame_of({.payload = 20}, random);
    put(quoted, 40, 0x1234);
    Octets icmp = raw::icmp(3, 0, Octets(quoted.begin() + 14, quoted.begin() + 14 + 28));
    Octets frame = raw::ethernet(0x0800, raw::ipv4({.protocol = 1}, icmp));
    mend(frame);
    BOOST_TEST(quiet(frame));
}

BOOST_AUTO_TEST_CASE(b17_b18_a_path_that_rewrites_and_updates) {
    raw::Random random(96);
    for (const unsigned ttl : {1u, 63u, 255u}) {
        Octets frame = frame_of({.payload = 20}, random);
        const std::uint16_t before = get(frame, 22);
        frame[22] = static_cast<std::uint8_t>(ttl);
        put(frame, 24, frame::updated_checksum(get(frame, 24), before, get(frame, 22)));
        BOOST_TEST(quiet(frame));
        const std::uint16_t port = get(frame, 34);
        put(frame, 34, 7103);
        put(frame, 40, frame::updated_checksum(get(frame, 40), port, 7103));
        BOOST_TEST(quiet(frame));
    }
}

BOOST_AUTO_TEST_CASE(b21_a_vni_of_0_and_group_policy_bits) {
    raw::Random random(97);
    Octets frame = frame_of({.envelope = Envelope::kVxlan, .payload = 20}, random);
    const std::size_t vxlan = frame::parse_frame(frame, kTunnels).tunnel_offset;
    frame[vxlan] = 0x88;  // G and I
    put(frame, vxlan + 2, 0x0042);
    put(frame, vxlan + 4, 0);
    frame[vxlan + 6] = 0;
    if (finding(frame, 1).state != ChecksumState::kDisabled) {
        write_right(frame, finding(frame, 1));
    }
    BOOST_TEST(quiet(frame));
    BOOST_TEST(frame::parse_frame(frame, kTunnels).has_inner);
}

BOOST_AUTO_TEST_CASE(plain_traffic_on_a_tunnels_port_is_judged_as_far_as_it_can_be_read) {
    raw::Random random(98);
    for (const unsigned port : {4789u, 4790u, 6081u}) {
        Octets frame = frame_of({.payload = 0}, random, Octets(40, 0x55));
        put(frame, 36, static_cast<std::uint16_t>(port));
        write_right(frame, finding(frame, 1));
        BOOST_TEST(quiet(frame), port);
    }
}

BOOST_AUTO_TEST_CASE(an_explanation_has_every_field_and_says_what_is_wrong) {
    raw::Random random(99);
    Octets frame;
    do {  // over IPv4, with an outer checksum
        frame =
            frame_of({.envelope = Envelope::kGeneve, .upper = Upper::kTcp, .payload = 30}, random);
    } while (frame[12] != 0x08 || finding(frame, 1).state != ChecksumState::kGood);
    const FrameVerdict verdict = verify_slowly(frame, kTunnels);
    const ChecksumFinding& tcp = verdict.findings[verdict.count - 1u];
    put(frame, tcp.field_offset, static_cast<std::uint16_t>(~tcp.right));
    const std::string page = explain(frame, {});
    for (const char* line : {"tunnel GENEVE", "outer.udp.destination_port", "6081", "tunnel.vni",
                             "inner.tcp.flags", "0x18 PSH ACK", "inner.tcp.checksum", "COMPLEMENT",
                             "the right value, but not inverted"}) {
        BOOST_TEST(page.find(line) != std::string::npos, line << " in\n" << page);
    }
    // The outer sum is right for the finished inner one, and is not blamed for it.
    BOOST_TEST(page.find("right once the inner checksum is") != std::string::npos);
    const Octets cut(frame.begin(), frame.begin() + 40);
    BOOST_TEST(explain(cut, {}).find("malformed") != std::string::npos);
    BOOST_TEST(explain({}, {}).find("frame of 0 bytes") == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
