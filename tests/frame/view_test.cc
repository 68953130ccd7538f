#include "dataplane/frame/view.h"

#include <boost/test/unit_test.hpp>
#include <memory>

#include "tests/frame/raw.h"

BOOST_AUTO_TEST_SUITE(view_of_a_frame)

using namespace pathproof;
using namespace pathproof::frame;
using raw::Octets;

namespace {

constexpr std::uint16_t kTunnelPorts[] = {4789, 8472};
constexpr std::uint16_t kIp4 = 0x0800;
constexpr std::uint16_t kIp6 = 0x86dd;

FrameView parsed(const Octets& frame) {
    return parse_frame(frame, kTunnelPorts);
}

Octets in_tunnel(const Octets& inner, std::uint16_t port = 4789) {
    return raw::ethernet(kIp4, raw::ipv4({}, raw::udp(40'000, port, raw::vxlan(42, inner))));
}

std::string payload_text(const Octets& frame, const PacketView& packet) {
    const Bytes payload = packet.payload(frame);
    return {payload.begin(), payload.end()};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_header_that_does_not_fit_is_not_given) {
    const Octets bytes{1, 2, 3, 4};
    BOOST_TEST(view<std::uint32_t>(bytes, 0).has_value());
    BOOST_TEST(!view<std::uint32_t>(bytes, 1));
    BOOST_TEST(!view<std::uint32_t>(bytes, 4));
    BOOST_TEST(!view<std::uint32_t>(bytes, static_cast<std::size_t>(-2)));
}

BOOST_AUTO_TEST_CASE(plain_udp_over_ipv4_is_read) {
    const Octets frame = raw::ethernet(kIp4, raw::ipv4({}, raw::udp(1000, 53, raw::text("hello"))));
    const FrameView view = parsed(frame);
    BOOST_TEST((view.malformed == Malformed::kNone));
    BOOST_TEST(!view.has_inner);
    BOOST_TEST((view.outer.network == Network::kIpv4));
    BOOST_TEST((view.outer.transport == Transport::kUdp));
    BOOST_TEST(to_string(view.outer.source_endpoint()) == "198.18.0.1:1000");
    BOOST_TEST(to_string(view.outer.destination_endpoint()) == "198.18.1.2:53");
    BOOST_TEST(view.outer.transport_offset == 34u);
    BOOST_TEST(view.outer.transport_length == 13u);
    BOOST_TEST(payload_text(frame, view.outer) == "hello");
    BOOST_TEST(view.outer.trailer_length == 0u);
}

BOOST_AUTO_TEST_CASE(one_and_two_vlan_tags_are_read_and_a_third_is_not) {
    const Octets ip = raw::ipv4({}, raw::udp(1, 2, raw::text("x")));
    const Octets outer_tag = raw::vlan(0x88a8, 0x6064);
    const Octets inner_tag = raw::vlan(0x8100, 7);
    const FrameView one = parsed(raw::ethernet(kIp4, ip, inner_tag));
    BOOST_TEST(one.outer.vlans == 1);
    BOOST_TEST(one.outer.vlan[0] == 7);
    BOOST_TEST(one.outer.network_offset == 18u);
    const FrameView two = parsed(raw::ethernet(kIp4, ip, raw::joined({outer_tag, inner_tag})));
    BOOST_TEST(two.outer.vlans == 2);
    BOOST_TEST(two.outer.vlan[0] == 0x6064);
    BOOST_TEST(two.outer.vlan[1] == 7);
    BOOST_TEST(two.outer.destination_port == 2);
    const FrameView three =
        parsed(raw::ethernet(kIp4, ip, raw::joined({outer_tag, inner_tag, inner_tag})));
    BOOST_TEST((three.outer.network == Network::kNone));
    BOOST_TEST((three.malformed == Malformed::kNone));
}

BOOST_AUTO_TEST_CASE(ipv4_options_move_the_transport_header) {
    const Octets options{1, 1, 1, 1, 1, 1, 1, 0};
    const FrameView view =
        parsed(raw::ethernet(kIp4, raw::ipv4({.protocol = 6, .options = options},
                                             raw::tcp(10, 20, raw::text("data"), {1, 1, 1, 0}))));
    BOOST_TEST(view.outer.network_length == 28u);
    BOOST_TEST(view.outer.transport_offset == 42u);
    BOOST_TEST(view.outer.payload_offset == 66u);
    BOOST_TEST(view.outer.payload_length == 4u);
    BOOST_TEST(view.outer.destination_port == 20);
}

BOOST_AUTO_TEST_CASE(fragments_are_told_apart) {
    const Octets datagram = raw::udp(1, 53, Octets(64));
    const auto whole = parsed(raw::ethernet(kIp4, raw::ipv4({.fragment = 0x4000}, datagram)));
    BOOST_TEST((whole.outer.fragment == Fragment::kWhole));
    const Octets start(datagram.begin(), datagram.begin() + 32);
    const auto first = parsed(raw::ethernet(kIp4, raw::ipv4({.fragment = 0x2000}, start)));
    BOOST_TEST((first.outer.fragment == Fragment::kFirst));
    BOOST_TEST((first.malformed == Malformed::kNone));
    BOOST_TEST(first.outer.destination_port == 53);
    const auto later = parsed(raw::ethernet(kIp4, raw::ipv4({.fragment = 4}, start)));
    BOOST_TEST((later.outer.fragment == Fragment::kLater));
    BOOST_TEST((later.outer.transport == Transport::kNone));
    BOOST_TEST(later.outer.protocol == 17);
    BOOST_TEST(later.outer.destination_port == 0);
}

BOOST_AUTO_TEST_CASE(ipv6_extension_headers_are_followed) {
    const Octets chain = raw::joined({raw::ipv6_options(43, 2), raw::ipv6_route(60, 4, 0, {9}),
                                      raw::ipv6_options(44), raw::ipv6_fragment(17, 0),
                                      raw::udp(1, 53, raw::text("q"))});
    const FrameView view = parsed(raw::ethernet(kIp6, raw::ipv6(0, chain)));
    BOOST_TEST((view.malformed == Malformed::kNone));
    BOOST_TEST((view.outer.transport == Transport::kUdp));
    BOOST_TEST((view.outer.fragment == Fragment::kWhole));  // RFC 6946: an atomic fragment
    BOOST_TEST(view.outer.network_length == 40u + 16 + 24 + 8 + 8);
    BOOST_TEST(view.outer.destination_port == 53);
    BOOST_TEST(to_string(view.outer.final_destination) == "2001:db8::2");
}

BOOST_AUTO_TEST_CASE(a_later_ipv6_fragment_has_no_transport) {
    const Octets body = raw::joined({raw::ipv6_fragment(17, 0x0101), Octets(32, 0x11)});
    const FrameView view = parsed(raw::ethernet(kIp6, raw::ipv6(44, body)));
    BOOST_TEST((view.outer.fragment == Fragment::kLater));
    BOOST_TEST((view.outer.transport == Transport::kNone));
    BOOST_TEST((view.malformed == Malformed::kNone));
}

BOOST_AUTO_TEST_CASE(the_final_destination_is_the_last_hop_left_in_a_routing_header) {
    const auto final_of = [](std::uint8_t type, std::uint8_t left) {
        const Octets body =
            raw::joined({raw::ipv6_route(17, type, left, {7, 8, 9}), raw::udp(1, 2, {})});
        return parsed(raw::ethernet(kIp6, raw::ipv6(43, body))).outer;
    };
    BOOST_TEST(to_string(final_of(0, 3).final_destination) == "2001:db8::9");
    BOOST_TEST(to_string(final_of(4, 2).final_destination) == "2001:db8::7");  // RFC 8754: reversed
    BOOST_TEST(to_string(final_of(4, 0).final_destination) == "2001:db8::2");
    BOOST_TEST(final_of(4, 2).final_destination_known);
    BOOST_TEST(!final_of(3, 1).final_destination_known);
    BOOST_TEST(final_of(3, 0).final_destination_known);
    BOOST_TEST(to_string(final_of(0, 3).destination) == "2001:db8::2");
}

BOOST_AUTO_TEST_CASE(endless_extension_headers_are_given_up) {
    Octets chain;
    for (int i = 0; i < 40; ++i) {
        raw::append(chain, raw::ipv6_options(60));
    }
    const FrameView view = parsed(raw::ethernet(kIp6, raw::ipv6(60, chain)));
    BOOST_TEST((view.outer.transport == Transport::kOther));
    BOOST_TEST((view.malformed == Malformed::kNone));
}

BOOST_AUTO_TEST_CASE(a_vxlan_tunnel_is_opened_on_the_ports_named_and_no_other) {
    const Octets inner = raw::ethernet(kIp6, raw::ipv6(6, raw::tcp(5000, 80, raw::text("GET"))),
                                       raw::vlan(0x8100, 5));
    const Octets frame = in_tunnel(inner, 8472);
    const FrameView view = parsed(frame);
    BOOST_TEST(view.has_inner);
    BOOST_TEST(view.vni == 42u);
    BOOST_TEST(view.tunnel_offset == 42u);
    BOOST_TEST((view.inner.network == Network::kIpv6));
    BOOST_TEST(view.inner.vlans == 1);
    BOOST_TEST(view.inner.destination_port == 80);
    BOOST_TEST(payload_text(frame, view.inner) == "GET");
    BOOST_TEST(&view.innermost() == &view.inner);
    BOOST_TEST(!parsed(in_tunnel(inner, 4790)).has_inner);
    BOOST_TEST(!parsed(in_tunnel(inner, 4790)).to_tunnel);
}

BOOST_AUTO_TEST_CASE(vni_0_and_group_policy_bits_are_legal_and_a_missing_i_flag_is_not) {
    Octets frame = in_tunnel(raw::ethernet(kIp4, raw::ipv4({}, raw::udp(1, 2, {}))));
    frame[42] = 0x88;  // G and I (draft-smith-vxlan-group-policy)
    frame[48] = 0;     // VNI 0
    const FrameView legal = parsed(frame);
    BOOST_TEST(legal.has_inner);
    BOOST_TEST(legal.vni == 0u);
    frame[42] = 0x80;
    const FrameView without = parsed(frame);
    BOOST_TEST(!without.has_inner);
    BOOST_TEST(without.to_tunnel);
    BOOST_TEST((without.malformed == Malformed::kShortTunnel));
    const Octets cut = raw::ethernet(kIp4, raw::ipv4({}, raw::udp(1, 4789, {8, 0, 0, 0})));
    BOOST_TEST((parsed(cut).malformed == Malformed::kShortTunnel));
}

BOOST_AUTO_TEST_CASE(trailers_are_counted_outside_and_inside_the_tunnel) {
    Octets inner = raw::ethernet(kIp4, raw::ipv4({}, raw::udp(1, 2, raw::text("abc"))));
    raw::append(inner, Octets(15, 0xee));
    Octets frame = in_tunnel(inner);
    raw::append(frame, Octets(4, 0xdd));
    const FrameView view = parsed(frame);
    BOOST_TEST(view.outer.trailer_length == 4u);
    BOOST_TEST(view.inner.trailer_length == 15u);
    BOOST_TEST(payload_text(frame, view.inner) == "abc");
}

BOOST_AUTO_TEST_CASE(a_udp_length_shorter_than_the_ip_payload_is_legal_and_a_longer_one_is_not) {
    Octets datagram = raw::udp(1, 2, raw::text("abc"));
    raw::append(datagram, raw::text("more"));
    const Octets shorter = raw::ethernet(kIp4, raw::ipv4({}, datagram));
    BOOST_TEST((parsed(shorter).malformed == Malformed::kNone));
    BOOST_TEST(payload_text(shorter, parsed(shorter).outer) == "abc");
    datagram[5] = 16;
    BOOST_TEST((parsed(raw::ethernet(kIp4, raw::ipv4({}, datagram))).malformed ==
                Malformed::kShortTransport));
    datagram[5] = 7;
    BOOST_TEST((parsed(raw::ethernet(kIp4, raw::ipv4({}, datagram))).malformed ==
                Malformed::kShortTransport));
}

BOOST_AUTO_TEST_CASE(an_echo_identifier_stands_in_for_ports) {
    const auto echo =
        parsed(raw::ethernet(kIp4, raw::ipv4({.protocol = 1}, raw::icmp(8, 0x4242, Octets(56)))));
    BOOST_TEST((echo.outer.transport == Transport::kIcmp));
    BOOST_TEST(echo.outer.source_port == 0x4242);
    const auto unreachable =
        parsed(raw::ethernet(kIp4, raw::ipv4({.protocol = 1}, raw::icmp(3, 0x4242, Octets(28)))));
    BOOST_TEST(unreachable.outer.source_port == 0);
    const auto six = parsed(raw::ethernet(kIp6, raw::ipv6(58, raw::icmp(129, 7, {}))));
    BOOST_TEST((six.outer.transport == Transport::kIcmpv6));
    BOOST_TEST(six.outer.source_port == 7);
}

BOOST_AUTO_TEST_CASE(what_is_no_ip_is_let_be) {
    const FrameView arp = parsed(raw::ethernet(0x0806, Octets(46)));
    BOOST_TEST((arp.malformed == Malformed::kNone));
    BOOST_TEST((arp.outer.network == Network::kNone));
    const FrameView sctp = parsed(raw::ethernet(kIp4, raw::ipv4({.protocol = 132}, Octets(20))));
    BOOST_TEST((sctp.outer.transport == Transport::kSctp));
}

// Each prefix is copied to a heap block of exactly its size, so that a sanitizer build sees any
// read beyond.
BOOST_AUTO_TEST_CASE(every_truncation_is_noticed_and_its_offsets_stay_inside) {
    const std::vector<Octets> frames = {
        in_tunnel(raw::ethernet(
            kIp4, raw::ipv4({.options = {1, 1, 1, 0}}, raw::udp(1, 53, raw::text("payload"))))),
        in_tunnel(raw::ethernet(
            kIp6, raw::ipv6(0, raw::joined({raw::ipv6_options(43), raw::ipv6_route(6, 4, 1, {7, 8}),
                                            raw::tcp(1, 2, raw::text("payload"))})))),
        raw::ethernet(kIp6, raw::ipv6(58, raw::icmp(128, 1, Octets(8))), raw::vlan(0x8100, 1)),
    };
    for (const Octets& frame : frames) {
        BOOST_TEST((parsed(frame).malformed == Malformed::kNone));
        for (std::size_t length = 0; length < frame.size(); ++length) {
            const auto block = std::make_unique<std::uint8_t[]>(length);
            std::copy_n(frame.begin(), length, block.get());
            const FrameView view = parse_frame({block.get(), length}, kTunnelPorts);
            BOOST_TEST((view.malformed != Malformed::kNone), "cut to " << length);
            for (const PacketView* packet : {&view.outer, &view.inner}) {
                BOOST_TEST(packet->network_end <= length);
                BOOST_TEST(packet->transport_offset + packet->transport_length <= length);
                BOOST_TEST(packet->payload_offset + packet->payload_length <= length);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(random_bytes_behind_valid_starts_never_lead_outside) {
    raw::Random random(7);
    const Octets model = in_tunnel(raw::ethernet(
        kIp6, raw::ipv6(0, raw::joined({raw::ipv6_options(44), raw::ipv6_fragment(17, 0),
                                        raw::udp(1, 2, Octets(40))}))));
    for (int round = 0; round < 50'000; ++round) {
        Octets frame = model;
        for (int change = 0; change < 4; ++change) {
            frame[random() % frame.size()] = random.octet();
        }
        frame.resize(random() % (frame.size() + 1));
        const FrameView view = parsed(frame);
        for (const PacketView* packet : {&view.outer, &view.inner}) {
            BOOST_REQUIRE(packet->transport_offset + packet->transport_length <= frame.size());
            BOOST_REQUIRE(packet->payload_offset + packet->payload_length <= frame.size());
            BOOST_REQUIRE(packet->network_end + packet->trailer_length <= frame.size());
        }
    }
}

// Tries every type: reading finds nothing in a frame that the look at the type alone passes by.
BOOST_AUTO_TEST_CASE(a_type_that_carries_no_ip_leaves_nothing_to_read) {
    raw::Octets content(46, 0x45);
    unsigned carriers = 0;
    for (unsigned type = 0; type <= 0xffff; ++type) {
        const auto frame = raw::ethernet(static_cast<std::uint16_t>(type), content);
        if (may_carry_ip(frame)) {
            ++carriers;
            continue;
        }
        const FrameView view = parsed(frame);
        BOOST_REQUIRE((view.outer.network == Network::kNone && view.outer.vlans == 0 &&
                       view.malformed == Malformed::kNone && !view.has_inner));
    }
    BOOST_TEST(carriers == 5u);                          // IPv4, IPv6 and three kinds of VLAN tags
    BOOST_TEST(may_carry_ip(Bytes(content).first(13)));  // too short: malformed, says the reader
}

BOOST_AUTO_TEST_SUITE_END()
