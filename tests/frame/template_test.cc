#include "dataplane/frame/template.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_net.h>

#include <boost/test/unit_test.hpp>

#include "dataplane/base/be.h"
#include "dataplane/frame/checksum_oracle.h"
#include "dataplane/frame/transport_shape.h"
#include "dataplane/frame/view.h"
#include "tests/frame/raw.h"

BOOST_AUTO_TEST_SUITE(frame_template)

using namespace pathproof;
using namespace pathproof::frame;
using raw::Octets;

namespace {

constexpr TunnelPorts kTunnelPorts = TunnelPorts::well_known();

IpAddress random_address(raw::Random& random, Family family) {
    IpAddress address = family == Family::kIpv4 ? *parse_ip("198.18.0.0") : *parse_ip("2001:db8::");
    return address.plus(random.below(0x10000));
}

PacketSpec random_packet(raw::Random& random, bool udp_only) {
    const Family family = random.below(2) == 0 ? Family::kIpv4 : Family::kIpv6;
    constexpr Transport kKinds[] = {Transport::kUdp, Transport::kTcp, Transport::kIcmp};
    Transport transport = udp_only ? Transport::kUdp : kKinds[random.below(3)];
    if (transport == Transport::kIcmp && family == Family::kIpv6) {
        transport = Transport::kIcmpv6;
    }
    return {
        .source_mac = *parse_mac("02:00:00:00:00:01"),
        .destination_mac = *parse_mac("02:00:00:00:00:02"),
        .vlan = {VlanTag{0x88a8, 100}, VlanTag{0x8100, 7}},
        .vlans = static_cast<std::uint8_t>(random.below(3)),
        .source = {random_address(random, family), random.word()},
        .destination = {random_address(random, family),
                        static_cast<std::uint16_t>(udp_only ? 4789 : 53)},
        .transport = transport,
        .traffic_class = random.octet(),
        .identification = random.word(),
    };
}

std::vector<std::uint8_t> random_trailer(raw::Random& random) {
    return random.octets(random.below(2) == 0 ? 0 : random.below(20));
}

// Options, extension headers, SCTP and opaque payloads.
void add_rarities(raw::Random& random, PacketSpec& packet, bool transport_too) {
    packet.trailer = random_trailer(random);
    if (packet.source.address.family == Family::kIpv4) {
        packet.ipv4_option_bytes = static_cast<std::uint8_t>(random.below(11) * 4);
    } else {
        packet.flow_label = random() >> 12;
        packet.final_destination = random_address(random, Family::kIpv6);
        for (std::size_t i = random.below(4); i > 0; --i) {
            packet.extensions.push_back(static_cast<Extension>(i - 1));
        }
    }
    if (transport_too && random.below(4) == 0) {
        packet.transport = random.below(2) == 0 ? Transport::kSctp : Transport::kOther;
    }
    if (packet.transport == Transport::kTcp) {
        packet.tcp_option_bytes = static_cast<std::uint8_t>(random.below(11) * 4);
    }
}

TunnelSpec random_tunnel(raw::Random& random, PacketSpec& inner) {
    TunnelSpec tunnel{.outer = random_packet(random, true), .vni = random() >> 8};
    tunnel.kind = static_cast<Tunnel>(1 + random.below(kTunnels - 1));
    add_rarities(random, tunnel.outer, false);
    switch (tunnel.kind) {
        case Tunnel::kNone:
        case Tunnel::kVxlan:
            if (random.below(2) == 0) {
                tunnel.group_policy = random.word();
            }
            break;
        case Tunnel::kVxlanGpe: tunnel.outer.destination.port = 4790; break;
        case Tunnel::kGeneve:
            tunnel.outer.destination.port = 6081;
            tunnel.geneve_option_bytes = static_cast<std::uint8_t>(random.below(33) * 4);
            break;
        case Tunnel::kGre:
            tunnel.outer.transport = Transport::kOther;
            if (random.below(2) == 0) {
                tunnel.gre_key = tunnel.vni;
            }
            break;
        case Tunnel::kIpInIp: tunnel.outer.transport = Transport::kOther; break;
    }
    const bool either = tunnel.kind != Tunnel::kVxlan && tunnel.kind != Tunnel::kIpInIp;
    if (tunnel.kind == Tunnel::kIpInIp || (either && random.below(2) == 0)) {
        tunnel.carries = Carries::kIp;
        inner.vlans = 0;
        inner.trailer.clear();
    }
    return tunnel;
}

FrameSpec random_spec(raw::Random& random) {
    FrameSpec spec;
    spec.packet = random_packet(random, false);
    add_rarities(random, spec.packet, true);
    spec.payload = random.octets(random.below(300));
    if (random.below(2) == 0) {
        spec.tunnel = random_tunnel(random, spec.packet);
    }
    return spec;
}

FramePatch random_patch(raw::Random& random, const FrameSpec& spec) {
    FramePatch patch;
    if (random.below(3) > 0) {
        patch.source = random_address(random, spec.packet.source.address.family);
    }
    if (random.below(3) > 0) {
        patch.source_port = random.word();
    }
    if (random.below(3) > 0) {
        patch.outer_source_port = random.word();
    }
    return patch;
}

FrameSpec patched(FrameSpec spec, const FramePatch& patch) {
    spec.packet.source.address = patch.source.value_or(spec.packet.source.address);
    spec.packet.source.port = patch.source_port.value_or(spec.packet.source.port);
    if (spec.tunnel) {
        std::uint16_t& port = spec.tunnel->outer.source.port;
        port = patch.outer_source_port.value_or(port);
    }
    return spec;
}

FrameTemplate made(const FrameSpec& spec) {
    auto result = FrameTemplate::make(spec);
    BOOST_REQUIRE_MESSAGE(result, result.error().message);
    return *result;
}

// Offset of the checksum in its transport's header.
std::size_t checksum_place(Transport transport) {
    if (transport == Transport::kTcp) {
        return 16;
    }
    return transport == Transport::kUdp ? 6 : 2;
}

// The transport checksum that the oracle wants of a packet in a rendered frame.
std::uint16_t oracle_transport(const Octets& frame, const PacketView& packet) {
    OracleSum sum;
    if (packet.transport != Transport::kIcmp) {
        sum.add({packet.source.bytes.data(), packet.source.size()});
        const IpAddress& last = packet.final_destination;
        sum.add({last.bytes.data(), last.size()});
        Octets rest;
        raw::put32(rest, packet.transport_length);
        raw::put16(rest, packet.protocol);
        sum.add(rest);
    }
    const std::size_t field = checksum_place(packet.transport);
    Octets data(frame.begin() + packet.transport_offset,
                frame.begin() + packet.transport_offset + packet.transport_length);
    data[field] = data[field + 1] = 0;
    sum.add(data);
    return packet.transport == Transport::kUdp && sum.checksum() == 0 ? 0xffff : sum.checksum();
}

std::uint16_t wire_transport(const Octets& frame, const PacketView& packet) {
    const std::size_t field = checksum_place(packet.transport);
    return view<Be16>(frame, packet.transport_offset + field)->value();
}

std::uint16_t oracle_ipv4(const Octets& frame, const PacketView& packet) {
    Octets header(frame.begin() + packet.network_offset,
                  frame.begin() + packet.network_offset + packet.network_length);
    header[10] = header[11] = 0;
    OracleSum sum;
    sum.add(header);
    return sum.checksum();
}

// RFC 9260 appendix A, bit by bit; the field holds it with the least significant byte first.
std::uint32_t slow_crc32c(Octets packet) {
    for (const std::size_t at : {8, 9, 10, 11}) {
        packet.at(at) = 0;
    }
    std::uint32_t rest = 0xffffffff;
    for (const std::uint8_t byte : packet) {
        rest ^= byte;
        for (int bit = 0; bit < 8; ++bit) {
            rest = rest >> 1 ^ ((rest & 1) != 0 ? 0x82f63b78 : 0);
        }
    }
    return ~rest;
}

void check_sctp(const Octets& frame, const PacketView& packet) {
    const Octets whole(frame.begin() + packet.transport_offset, frame.begin() + packet.network_end);
    const auto field = view<Be32>(whole, 8);
    BOOST_REQUIRE(field);
    BOOST_REQUIRE_EQUAL(__builtin_bswap32(field->value()), slow_crc32c(whole));
}

bool has_16_bit_checksum(Transport transport) {
    return transport == Transport::kUdp || transport == Transport::kTcp ||
           transport == Transport::kIcmp || transport == Transport::kIcmpv6;
}

void check_packet(const Octets& frame, const PacketView& packet) {
    if (packet.transport == Transport::kSctp) {
        check_sctp(frame, packet);
    } else if (has_16_bit_checksum(packet.transport)) {
        BOOST_REQUIRE_EQUAL(wire_transport(frame, packet), oracle_transport(frame, packet));
    }
    if (packet.network == Network::kIpv4) {
        BOOST_REQUIRE_EQUAL(view<Be16>(frame, packet.network_offset + 10)->value(),
                            oracle_ipv4(frame, packet));
    }
}

void check_tunnel(const FrameView& view, const TunnelSpec& tunnel) {
    BOOST_REQUIRE((view.tunnel == tunnel.kind));
    BOOST_REQUIRE(view.inner.has_ethernet == (tunnel.carries == Carries::kEthernet));
    BOOST_REQUIRE(view.outer.trailer_length == tunnel.outer.trailer.size());
    if (tunnel.outer.transport == Transport::kUdp) {
        BOOST_REQUIRE(view.vni == tunnel.vni);
        BOOST_REQUIRE((view.outer.destination_endpoint() == tunnel.outer.destination));
    } else if (tunnel.kind == Tunnel::kGre) {
        BOOST_REQUIRE(view.vni == tunnel.gre_key.value_or(0));
    }
}

FrameSpec simple_spec(bool tunnel = false) {
    FrameSpec spec;
    spec.packet = {
        .source = *parse_endpoint("198.18.0.1:10000"),
        .destination = *parse_endpoint("198.18.1.2:53"),
    };
    if (tunnel) {
        spec.tunnel = TunnelSpec{
            .outer = {.source = *parse_endpoint("198.51.100.1:40000"),
                      .destination = *parse_endpoint("198.51.100.2:4789")},
            .vni = 42,
        };
    }
    spec.payload = raw::text("payload of odd length");
    return spec;
}

}  // namespace

// Asks for segmentation as rte_mbuf wants it: with all checksums, of which an outer UDP one may be
// off.
void ask_for_segments(FrameSpec& spec) {
    spec.segment_bytes = 100;
    spec.packet.trailer.clear();
    spec.packet.ip_checksum = ChecksumMode::kOffload;
    spec.packet.transport_checksum = ChecksumMode::kOffload;
    if (spec.tunnel) {
        spec.tunnel->outer.ip_checksum = ChecksumMode::kOffload;
        spec.tunnel->outer.transport_checksum = ChecksumMode::kOffload;
    }
}

BOOST_AUTO_TEST_CASE(a_frame_is_read_back_as_it_was_specified) {
    raw::Random random(1);
    for (int round = 0; round < 2'000; ++round) {
        const FrameSpec spec = random_spec(random);
        const FrameTemplate model = made(spec);
        const Octets frame = model.render();
        const FrameView view = parse_frame(frame, kTunnelPorts);
        BOOST_REQUIRE((view.malformed == Malformed::kNone));
        BOOST_REQUIRE(view.has_inner == spec.tunnel.has_value());
        const PacketView& packet = view.innermost();
        BOOST_REQUIRE((packet.source.bytes == spec.packet.source.address.bytes));
        BOOST_REQUIRE((packet.transport == spec.packet.transport));
        const bool opaque = packet.transport == Transport::kOther;
        BOOST_REQUIRE(opaque || packet.source_port == spec.packet.source.port);
        BOOST_REQUIRE(packet.vlans == spec.packet.vlans);
        BOOST_REQUIRE(packet.trailer_length == spec.packet.trailer.size());
        const std::size_t at = model.layout().packet.payload;
        BOOST_REQUIRE(opaque || packet.payload_offset == at);
        BOOST_REQUIRE(std::equal(spec.payload.begin(), spec.payload.end(), frame.begin() + at));
        if (view.has_inner) {
            check_tunnel(view, *spec.tunnel);
        }
    }
}

BOOST_AUTO_TEST_CASE(software_checksums_are_right_after_every_patch) {
    raw::Random random(2);
    for (int round = 0; round < 5'000; ++round) {
        const FrameSpec spec = random_spec(random);
        const FrameTemplate model = made(spec);
        const Octets frame = model.render(random_patch(random, spec));
        const FrameView view = parse_frame(frame, kTunnelPorts);
        check_packet(frame, view.outer);
        if (view.has_inner) {
            check_packet(frame, view.inner);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_patched_frame_is_the_frame_of_the_patched_specification_in_every_mode) {
    raw::Random random(3);
    int compared = 0;
    for (int round = 0; round < 20'000; ++round) {
        FrameSpec spec = random_spec(random);
        const auto mode = [&] { return static_cast<ChecksumMode>(random.below(kChecksumModes)); };
        spec.packet.ip_checksum = mode();
        spec.packet.transport_checksum = mode();
        if (spec.tunnel) {
            spec.tunnel->outer.transport_checksum = mode();
        }
        const FramePatch patch = random_patch(random, spec);
        const auto model = FrameTemplate::make(spec);
        const auto wanted = FrameTemplate::make(patched(spec, patch));
        if (!model || !wanted) {
            continue;  // modes that a protocol does not know
        }
        ++compared;
        BOOST_REQUIRE(model->render(patch) == wanted->render());
    }
    BOOST_TEST(compared > 8'000);
}

BOOST_AUTO_TEST_CASE(a_dns_template_asks_for_its_sequence) {
    for (const bool tunnel : {false, true}) {
        FrameSpec spec = simple_spec(tunnel);
        spec.payload.clear();
        const auto model = FrameTemplate::make_dns(spec, "pathproof.test", kDnsTypeAaaa);
        BOOST_REQUIRE_MESSAGE(model, model.error().message);
        const Octets frame =
            model->render({.source_port = 33'333, .dns = FramePatch::Dns{0xbeef, 0x0123abcd}});
        const FrameView view = parse_frame(frame, kTunnelPorts);
        DnsReader reader(view.innermost().payload(frame));
        const auto question = reader.next_question();
        BOOST_REQUIRE(question);
        BOOST_TEST(reader.header().id == 0xbeef);
        BOOST_TEST(question->name.to_text() == "q0123abcd.pathproof.test");
        BOOST_TEST(question->type == kDnsTypeAaaa);
        BOOST_TEST(*sequence_of(question->name) == 0x0123abcdu);
        check_packet(frame, view.innermost());
        check_packet(frame, view.outer);
    }
}

BOOST_AUTO_TEST_CASE(the_dns_patch_leaves_other_templates_alone) {
    const FrameTemplate model = made(simple_spec());
    BOOST_TEST(model.render({.dns = FramePatch::Dns{1, 2}}) == model.render());
}

BOOST_AUTO_TEST_CASE(offloaded_fields_hold_what_rte_net_prepares_and_the_mbuf_says_what_to_do) {
    raw::Random random(4);
    int prepared = 0;
    for (int round = 0; round < 5'000; ++round) {
        FrameSpec spec = random_spec(random);
        const auto mode = [&] {
            return random.below(2) == 0 ? ChecksumMode::kSoftware : ChecksumMode::kOffload;
        };
        spec.packet.ip_checksum = mode();
        spec.packet.transport_checksum = mode();
        if (spec.tunnel) {
            spec.tunnel->outer.ip_checksum = mode();
            spec.tunnel->outer.transport_checksum = mode();
        }
        if (random.below(3) == 0) {
            ask_for_segments(spec);
        }
        // rte_ipv6_phdr_cksum() takes length and protocol from the fixed header, which is wrong
        // behind extension headers.
        spec.packet.extensions.clear();
        if (spec.tunnel) {
            spec.tunnel->outer.extensions.clear();
        }
        const auto model = FrameTemplate::make(spec);
        if (!model || !model->offload().any() || !check(model->offload())) {
            continue;
        }
        ++prepared;
        const Octets frame = model->render(random_patch(random, spec));
        Octets buffer = frame;
        rte_mbuf mbuf{};
        mbuf.buf_addr = buffer.data();
        mbuf.data_len = static_cast<std::uint16_t>(buffer.size());
        mbuf.pkt_len = mbuf.data_len;
        mbuf.nb_segs = 1;
        apply_offload(mbuf, model->offload());
        BOOST_REQUIRE(rte_validate_tx_offload(&mbuf) == 0);
        BOOST_REQUIRE(rte_net_intel_cksum_prepare(&mbuf) == 0);
        const FrameLayout& layout = model->layout();
        // Since DPDK 24.07 an outer UDP checksum made in software becomes 0 where the device is asked
        // for something inner.
        if (spec.tunnel && over_udp(spec.tunnel->kind) &&
            spec.tunnel->outer.transport_checksum != ChecksumMode::kOffload) {
            const std::size_t outer_sum = layout.outer.transport + 6u;
            if (buffer[outer_sum] == 0 && buffer[outer_sum + 1] == 0) {
                std::copy_n(frame.begin() + outer_sum, 2, buffer.begin() + outer_sum);
            }
        }
        BOOST_REQUIRE(buffer == frame);
        const std::size_t tunnel_bytes = mbuf.outer_l2_len + mbuf.outer_l3_len;
        BOOST_REQUIRE(tunnel_bytes + mbuf.l2_len == layout.packet.network);
        BOOST_REQUIRE(tunnel_bytes + mbuf.l2_len + mbuf.l3_len == layout.packet.transport);
        BOOST_REQUIRE(mbuf.l4_len == layout.packet.payload - layout.packet.transport);
    }
    BOOST_TEST(prepared > 2'000);
}

BOOST_AUTO_TEST_CASE(an_outer_software_sum_counts_the_inner_one_as_the_nic_will_complete_it) {
    FrameSpec spec = simple_spec(true);
    const Octets right = made(spec).render();
    spec.packet.transport_checksum = ChecksumMode::kOffload;
    const Octets partial = made(spec).render();
    const std::size_t outer_field = 14 + 20 + 6;
    BOOST_TEST(view<Be16>(partial, outer_field)->value() ==
               view<Be16>(right, outer_field)->value());
    BOOST_TEST(partial != right);
}

BOOST_AUTO_TEST_CASE(an_offload_request_names_what_the_port_must_have) {
    FrameSpec spec = simple_spec(true);
    BOOST_TEST(!made(spec).offload().any());
    spec.packet.transport_checksum = ChecksumMode::kOffload;
    spec.tunnel->outer.transport_checksum = ChecksumMode::kOffload;
    spec.tunnel->outer.ip_checksum = ChecksumMode::kOffload;
    const OffloadRequest request = made(spec).offload();
    BOOST_TEST(request.port_offloads ==
               (RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_OUTER_UDP_CKSUM |
                RTE_ETH_TX_OFFLOAD_OUTER_IPV4_CKSUM));
    BOOST_TEST((request.mbuf_flags & RTE_MBUF_F_TX_TUNNEL_MASK) == RTE_MBUF_F_TX_TUNNEL_VXLAN);
    BOOST_TEST(request.l2_len == 8 + 8 + 14);
}

BOOST_AUTO_TEST_CASE(a_super_frame_is_asked_to_be_cut_with_what_its_tunnel_takes) {
    FrameSpec spec = simple_spec(true);
    spec.packet.transport = Transport::kTcp;
    spec.payload.resize(40'000);
    ask_for_segments(spec);
    const OffloadRequest request = made(spec).offload();
    BOOST_TEST((request.mbuf_flags & RTE_MBUF_F_TX_TCP_SEG) != 0u);
    BOOST_TEST((request.mbuf_flags & RTE_MBUF_F_TX_L4_MASK) == 0u);
    BOOST_TEST((request.port_offloads & RTE_ETH_TX_OFFLOAD_VXLAN_TNL_TSO) != 0u);
    BOOST_TEST(request.segment_bytes == 100);
    spec.tunnel.reset();
    spec.packet.transport = Transport::kUdp;
    BOOST_TEST((made(spec).offload().port_offloads & RTE_ETH_TX_OFFLOAD_UDP_TSO) != 0u);
}

BOOST_AUTO_TEST_CASE(a_request_that_an_mbuf_cannot_say_is_refused) {
    FrameSpec spec = simple_spec(true);
    spec.tunnel->kind = Tunnel::kGeneve;
    spec.packet.transport_checksum = ChecksumMode::kOffload;
    spec.tunnel->geneve_option_bytes = 40;
    BOOST_TEST(check(made(spec).offload()).has_value());
    spec.tunnel->geneve_option_bytes = 124;
    const Status refused = check(made(spec).offload());
    BOOST_REQUIRE(!refused);
    BOOST_TEST(refused.error().message.find("can say 127 at most") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(linux_and_rte_mbuf_preset_a_super_frame_differently) {
    FrameSpec spec = simple_spec();
    spec.packet.transport = Transport::kTcp;
    ask_for_segments(spec);
    const std::size_t field = 14 + 20 + 16;
    const std::uint16_t without_length = view<Be16>(made(spec).render(), field)->value();
    spec.packet.transport_checksum = ChecksumMode::kPseudo;
    const std::uint16_t with_length = view<Be16>(made(spec).render(), field)->value();
    BOOST_TEST(with_length == without_length + 20 + spec.payload.size());
}

BOOST_AUTO_TEST_CASE(a_fragment_says_where_its_piece_belongs) {
    for (const Family family : {Family::kIpv4, Family::kIpv6}) {
        FrameSpec spec = simple_spec();
        const bool v4 = family == Family::kIpv4;
        spec.packet.source = *parse_endpoint(v4 ? "198.18.0.1:0" : "[2001:db8::1]:0");
        spec.packet.destination = *parse_endpoint(v4 ? "198.18.1.2:0" : "[2001:db8::2]:0");
        spec.packet.transport = Transport::kOther;
        spec.packet.protocol = 17;
        spec.packet.fragment = FragmentSpec{.offset = 16, .more = true, .identification = 7};
        const Octets frame = made(spec).render();
        const PacketView packet = parse_frame(frame, kTunnelPorts).outer;
        BOOST_TEST((packet.fragment == Fragment::kLater));
        BOOST_TEST(packet.protocol == 17);
        BOOST_TEST(packet.network_length + 14 + spec.payload.size() == frame.size());
        const std::size_t field = v4 ? 14 + 6 : 14 + 40 + 2;
        BOOST_TEST(view<Be16>(frame, field)->value() == (v4 ? 0x2000 | 2 : 16 | 1));
    }
}

BOOST_AUTO_TEST_CASE(wrong_values_are_what_their_names_say) {
    const FieldValues values{.right = 0x12ff, .offload = 0x7777, .stale = 0x8888, .seed = 5};
    BOOST_TEST(field_value(ChecksumMode::kSoftware, values) == 0x12ff);
    BOOST_TEST(field_value(ChecksumMode::kZero, values) == 0);
    BOOST_TEST(field_value(ChecksumMode::kPseudo, values) == 0x7777);
    BOOST_TEST(field_value(ChecksumMode::kComplement, values) == 0xed00);
    BOOST_TEST(field_value(ChecksumMode::kPlusOne, values) == 0x1300);
    BOOST_TEST(field_value(ChecksumMode::kPlusOne, {.right = 0xffff}) == 1);
    BOOST_TEST(field_value(ChecksumMode::kStaleSourcePort, values) == 0x8888);
    BOOST_TEST(field_value(ChecksumMode::kSwapped, values) == 0xff12);
    BOOST_TEST(field_value(ChecksumMode::kRandom, values) ==
               field_value(ChecksumMode::kRandom, values));
    for (std::uint32_t right = 0; right < 0x10000; ++right) {
        const std::uint16_t value = field_value(
            ChecksumMode::kRandom, {.right = static_cast<std::uint16_t>(right), .seed = 9});
        BOOST_REQUIRE(value != right && value != 0 && value != 0xffff);
    }
}

BOOST_AUTO_TEST_CASE(a_stale_checksum_is_the_right_one_of_the_frame_before_nat) {
    FrameSpec spec = simple_spec(true);
    spec.tunnel->outer.transport_checksum = ChecksumMode::kStaleSourcePort;
    const Octets stale = made(spec).render({.outer_source_port = 7'103});
    FrameSpec before = simple_spec(true);
    const Octets original = made(before).render({.outer_source_port = spec.stale_source_port});
    const std::size_t field = 14 + 20 + 6;
    BOOST_TEST(view<Be16>(stale, field)->value() == view<Be16>(original, field)->value());
}

BOOST_AUTO_TEST_CASE(what_cannot_be_made_is_refused_with_the_reason) {
    const auto refusal = [](auto change) {
        FrameSpec spec = simple_spec(true);
        change(spec);
        const auto result = FrameTemplate::make(spec);
        return result ? std::string("made") : result.error().message;
    };
    const auto says = [&](auto change, const char* words) {
        const std::string message = refusal(change);
        BOOST_TEST(message.find(words) != std::string::npos, message);
    };
    says([](FrameSpec& s) { s.packet.destination.address.family = Family::kIpv6; }, "two families");
    says([](FrameSpec& s) { s.tunnel->vni = 1 << 24; }, "24 bits");
    says([](FrameSpec& s) { s.tunnel->outer.transport = Transport::kTcp; }, "VXLAN goes over UDP");
    says([](FrameSpec& s) { s.packet.vlans = 3; }, "VLAN tags");
    says([](FrameSpec& s) { s.payload.resize(9300); }, "9300 bytes");
    says([](FrameSpec& s) { s.packet.transport = Transport::kIcmpv6; }, "ICMPv6 over IPv6");
    says([](FrameSpec& s) { s.packet.transport = Transport::kGre; }, "only UDP, TCP, SCTP");
    says([](FrameSpec& s) { s.tunnel->carries = Carries::kIp; }, "Ethernet frames only");
    says([](FrameSpec& s) { s.tunnel->kind = Tunnel::kGre; }, "over IP alone");
    says([](FrameSpec& s) { s.tunnel->geneve_option_bytes = 6; }, "GENEVE options");
    says([](FrameSpec& s) { s.packet.ipv4_option_bytes = 44; }, "multiples of 4 up to 40");
    says([](FrameSpec& s) { s.packet.tcp_option_bytes = 4; }, "TCP options without TCP");
    says([](FrameSpec& s) { s.packet.extensions = {Extension::kHopByHop}; }, "need IPv6");
    says([](FrameSpec& s) { s.packet.fragment = FragmentSpec{}; }, "opaque");
    says([](FrameSpec& s) { s.segment_bytes = 100; }, "'offload' or 'pseudo'");
    says(
        [](FrameSpec& s) {
            s.segment_bytes = 100;
            s.packet.transport_checksum = ChecksumMode::kOffload;
        },
        "writes all IPv4 headers");
    says([](FrameSpec& s) { s.packet.ip_checksum = ChecksumMode::kPseudo; }, "no pseudo-header");
    says(
        [](FrameSpec& s) {
            s.packet.transport = Transport::kIcmp;
            s.packet.transport_checksum = ChecksumMode::kOffload;
        },
        "'offload'");
    says(
        [](FrameSpec& s) {
            s.packet.transport_checksum = ChecksumMode::kStaleSourcePort;
            s.stale_source_port = s.packet.source.port;
        },
        "is the source port itself");
    FrameSpec with_payload = simple_spec();
    BOOST_TEST(!FrameTemplate::make_dns(with_payload, "test", 1));
    with_payload.payload.clear();
    BOOST_TEST(!FrameTemplate::make_dns(with_payload, "a..b", 1));
    BOOST_TEST(FrameTemplate::make_dns(with_payload, "", 1).has_value());
}

BOOST_AUTO_TEST_CASE(modes_are_known_by_their_names) {
    for (std::size_t i = 0; i < kChecksumModes; ++i) {
        const auto mode = static_cast<ChecksumMode>(i);
        BOOST_TEST((checksum_mode(name(mode)) == mode));
    }
    BOOST_TEST(!checksum_mode("nonsense"));
}

BOOST_AUTO_TEST_SUITE_END()
