// Tunnels of every kind as parse_frame() reads them, byte by byte.
#include <boost/test/unit_test.hpp>

#include "dataplane/frame/checksum_oracle.h"
#include "dataplane/frame/crc32c.h"
#include "dataplane/frame/view.h"
#include "tests/frame/raw.h"

BOOST_AUTO_TEST_SUITE(tunnel)

using namespace pathproof;
using namespace pathproof::frame;
using raw::Octets;

namespace {

constexpr std::uint16_t kIp4 = 0x0800;
constexpr std::uint16_t kIp6 = 0x86dd;
constexpr std::uint16_t kTeb = 0x6558;

FrameView parsed(const Octets& frame) {
    return parse_frame(frame, TunnelPorts::well_known());
}

Octets inner_ip(std::uint16_t port = 4242) {
    return raw::ipv4({}, raw::udp(port, 53, Octets(9)));
}
Octets over_udp(std::uint16_t port, const Octets& data) {
    return raw::ethernet(kIp4, raw::ipv4({}, raw::udp(40'000, port, data)));
}
Octets over_ip(std::uint8_t protocol, const Octets& data) {
    return raw::ethernet(kIp4, raw::ipv4({.protocol = protocol}, data));
}
Octets geneve(std::uint16_t protocol, std::size_t options, const Octets& data) {
    Octets out{static_cast<std::uint8_t>(options / 4), 0};
    raw::put16(out, protocol);
    raw::put32(out, 0x123456u << 8);
    out.resize(out.size() + options, 0xee);
    raw::append(out, data);
    return out;
}
Octets gpe(std::uint8_t flags, std::uint8_t next, const Octets& data) {
    Octets out{flags, 0, 0, next};
    raw::put32(out, 7u << 8);
    raw::append(out, data);
    return out;
}
Octets gre(std::uint16_t flags, std::uint16_t protocol, const Octets& fields, const Octets& data) {
    Octets out;
    raw::put16(out, flags);
    raw::put16(out, protocol);
    raw::append(out, fields);
    raw::append(out, data);
    return out;
}

}  // namespace

BOOST_AUTO_TEST_CASE(geneve_is_read_behind_options_of_any_length) {
    for (const std::size_t options : {0u, 4u, 40u, 124u, 252u}) {
        const FrameView view =
            parsed(over_udp(6081, geneve(kTeb, options, raw::ethernet(kIp4, inner_ip()))));
        BOOST_TEST((view.tunnel == Tunnel::kGeneve));
        BOOST_REQUIRE(view.has_inner);
        BOOST_TEST(view.vni == 0x123456u);
        BOOST_TEST(view.tunnel_offset == 42u);
        BOOST_TEST(view.tunnel_length == 8 + options);
        BOOST_TEST(view.inner.ethernet_offset == 50 + options);
        BOOST_TEST(view.inner.source_port == 4242);
    }
    const FrameView bare = parsed(over_udp(6081, geneve(kIp4, 8, inner_ip())));
    BOOST_REQUIRE(bare.has_inner);
    BOOST_TEST(!bare.inner.has_ethernet);
    BOOST_TEST(bare.inner.network_offset == 42u + 16u);
}

BOOST_AUTO_TEST_CASE(geneve_of_another_version_or_with_options_beyond_the_datagram_is_malformed) {
    Octets frame = over_udp(6081, geneve(kTeb, 0, raw::ethernet(kIp4, inner_ip())));
    frame[42] = 0x40;
    BOOST_TEST((parsed(frame).malformed == Malformed::kShortTunnel));
    frame[42] = 0x3f;
    BOOST_TEST((parsed(frame).malformed == Malformed::kShortTunnel));
    BOOST_TEST(parsed(frame).to_tunnel);
    BOOST_TEST(!parsed(frame).has_inner);
}

BOOST_AUTO_TEST_CASE(vxlan_gpe_says_what_it_carries) {
    const auto read = [](std::uint8_t flags, std::uint8_t next, const Octets& data) {
        return parsed(over_udp(4790, gpe(flags, next, data)));
    };
    const Octets ethernet = raw::ethernet(kIp4, inner_ip());
    BOOST_TEST(read(0x0c, 1, inner_ip()).inner.source_port == 4242);
    BOOST_TEST(read(0x0c, 3, ethernet).inner.source_port == 4242);
    BOOST_TEST(read(0x08, 0, ethernet).inner.source_port == 4242);  // without P: Ethernet
    BOOST_TEST(
        (read(0x0c, 2, raw::ipv6(17, raw::udp(4242, 53, {}))).inner.network == Network::kIpv6));
    BOOST_TEST(read(0x0c, 1, inner_ip()).vni == 7u);
    const FrameView nsh = read(0x0c, 4, ethernet);
    BOOST_TEST(!nsh.has_inner);
    BOOST_TEST((nsh.malformed == Malformed::kNone));
    BOOST_TEST(!read(0x0d, 3, ethernet).has_inner);  // OAM
    BOOST_TEST((read(0x1c, 3, ethernet).malformed == Malformed::kShortTunnel));
    BOOST_TEST((read(0x04, 3, ethernet).malformed == Malformed::kShortTunnel));  // no VNI
}

BOOST_AUTO_TEST_CASE(gre_is_read_behind_its_optional_fields) {
    const Octets word(4, 1);
    struct Case {
        std::uint16_t flags;
        std::size_t fields;
        std::uint32_t key;
    };
    const Case cases[] = {{0, 0, 0},      {0x8000, 4, 0},          {0x2000, 4, 0x01010101},
                          {0x1000, 4, 0}, {0xa000, 8, 0x01010101}, {0xb000, 12, 0x01010101},
                          {0x9000, 8, 0}};
    for (const Case& each : cases) {
        const FrameView view =
            parsed(over_ip(47, gre(each.flags, kIp4, Octets(each.fields, 1), inner_ip())));
        BOOST_TEST((view.tunnel == Tunnel::kGre));
        BOOST_TEST((view.outer.transport == Transport::kGre));
        BOOST_REQUIRE(view.has_inner);
        BOOST_TEST(view.tunnel_length == 4 + each.fields);
        BOOST_TEST(view.vni == each.key);
        BOOST_TEST(view.inner.source_port == 4242);
    }
    const FrameView teb =
        parsed(over_ip(47, gre(0x2000, kTeb, word, raw::ethernet(kIp4, inner_ip()))));
    BOOST_TEST(teb.inner.has_ethernet);
    BOOST_TEST(teb.inner.source_port == 4242);
    // Version 1 (PPTP) and RFC 1701's routing are let be; a cut header is malformed.
    BOOST_TEST(
        (parsed(over_ip(47, gre(0x2001, 0x880b, word, {}))).outer.transport == Transport::kOther));
    BOOST_TEST((parsed(over_ip(47, gre(0x4000, kIp4, word, {}))).tunnel == Tunnel::kNone));
    BOOST_TEST(
        (parsed(over_ip(47, gre(0xb000, kIp4, word, {}))).malformed == Malformed::kShortTransport));
    const FrameView other = parsed(over_ip(47, gre(0, 0x8847, {}, Octets(20))));
    BOOST_TEST(!other.has_inner);
    BOOST_TEST((other.malformed == Malformed::kNone));
}

BOOST_AUTO_TEST_CASE(ip_in_ip_of_every_family_is_read) {
    const Octets six = raw::ipv6(17, raw::udp(4242, 53, {}));
    const Octets frames[] = {
        over_ip(4, inner_ip()), over_ip(41, six), raw::ethernet(kIp6, raw::ipv6(4, inner_ip())),
        raw::ethernet(kIp6, raw::ipv6(41, six)),
        raw::ethernet(kIp6, raw::ipv6(60, raw::joined({raw::ipv6_options(4), inner_ip()})))};
    for (const Octets& frame : frames) {
        const FrameView view = parsed(frame);
        BOOST_TEST((view.tunnel == Tunnel::kIpInIp));
        BOOST_REQUIRE(view.has_inner);
        BOOST_TEST(view.inner.source_port == 4242);
        BOOST_TEST(!view.inner.has_ethernet);
        BOOST_TEST(view.tunnel_length == 0u);
    }
    BOOST_TEST((parsed(over_ip(4, Octets(7))).malformed == Malformed::kShortIp));
}

BOOST_AUTO_TEST_CASE(which_tunnels_are_followed_is_the_callers_choice) {
    const Octets ipip = over_ip(4, inner_ip());
    const Octets vxlan = over_udp(8223, raw::vxlan(1, raw::ethernet(kIp4, inner_ip())));
    BOOST_TEST(!parse_frame(ipip, TunnelPorts(IpTunnels::kIgnored)).to_tunnel);
    BOOST_TEST(!parse_frame(ipip, {}).to_tunnel);
    BOOST_TEST(!parsed(vxlan).to_tunnel);
    TunnelPorts more = TunnelPorts::well_known();
    BOOST_TEST(more.add(8223, Tunnel::kVxlan));
    BOOST_TEST(parse_frame(vxlan, more).has_inner);
    BOOST_TEST(more.add(8223, Tunnel::kGeneve));  // changes its mind
    BOOST_TEST((parse_frame(vxlan, more).tunnel == Tunnel::kGeneve));
    const std::uint16_t port = 8223;
    BOOST_TEST((parse_frame(vxlan, {&port, 1}).tunnel == Tunnel::kVxlan));
    std::uint16_t next = 100;
    while (more.add(next, Tunnel::kVxlan)) {
        ++next;
    }
    BOOST_TEST(next == 100 + TunnelPorts::kMost - 5);
    BOOST_TEST((more.kind_of(next) == Tunnel::kNone));
}

BOOST_AUTO_TEST_CASE(a_fragment_of_a_tunnels_packet_is_not_looked_into) {
    const Octets first =
        raw::ethernet(kIp4, raw::ipv4({.protocol = 4, .fragment = 0x2000}, inner_ip()));
    BOOST_TEST(!parsed(first).to_tunnel);
}

BOOST_AUTO_TEST_CASE(udp_lite_has_its_coverage_and_the_length_of_the_packet) {
    const auto read = [](std::uint16_t coverage) {
        Octets lite = raw::udp(7, 8, Octets(20));
        lite[4] = static_cast<std::uint8_t>(coverage >> 8);
        lite[5] = static_cast<std::uint8_t>(coverage);
        return parsed(over_ip(136, lite)).outer;
    };
    BOOST_TEST(read(0).covered_length == 28u);
    BOOST_TEST(read(8).covered_length == 8u);
    BOOST_TEST(read(28).covered_length == 28u);
    BOOST_TEST(read(8).transport_length == 28u);
    BOOST_TEST((read(8).transport == Transport::kUdpLite));
    BOOST_TEST((read(7).malformed == Malformed::kShortTransport));
    BOOST_TEST((read(29).malformed == Malformed::kShortTransport));
}

// RFC 3720 appendix B.4 and the usual check value; SCTP sends the least significant byte first.
BOOST_AUTO_TEST_CASE(both_crcs_give_the_published_values) {
    struct Case {
        Octets bytes;
        std::uint32_t sent;
    };
    Octets rising(32);
    for (std::size_t i = 0; i < rising.size(); ++i) {
        rising[i] = static_cast<std::uint8_t>(i);
    }
    const Case cases[] = {{raw::text("123456789"), 0x839206e3},
                          {Octets(32, 0x00), 0xaa36918a},
                          {Octets(32, 0xff), 0x43aba862},
                          {rising, 0x4e79dd46}};
    for (const Case& each : cases) {
        Crc32c fast;
        fast.add(each.bytes);
        OracleCrc32c slow;
        slow.add(each.bytes);
        BOOST_TEST(fast.sctp_checksum() == each.sent);
        BOOST_TEST(slow.sctp_checksum() == each.sent);
    }
}

BOOST_AUTO_TEST_CASE(both_crcs_agree_however_the_bytes_are_handed_over) {
    raw::Random random(3);
    for (std::size_t size = 0; size < 100; ++size) {
        const Octets bytes = random.octets(size);
        const std::size_t cut = random.below(size + 1);
        Crc32c fast;
        fast.add(Bytes(bytes).first(cut));
        fast.add(Bytes(bytes).subspan(cut));
        OracleCrc32c slow;
        slow.add(bytes);
        BOOST_TEST(fast.sctp_checksum() == slow.sctp_checksum());
    }
}

BOOST_AUTO_TEST_SUITE_END()
