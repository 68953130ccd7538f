#include "dataplane/frame/frame_spec.h"

#include <rte_ether.h>

#include <algorithm>

#include "dataplane/frame/transport_shape.h"

namespace pathproof::frame {
namespace {

constexpr std::size_t kMostBytes = 9234;  // jumbo frames of 9216 bytes and two VLAN tags are common
constexpr std::size_t kMostSuperBytes = 65'535;  // what an IP length field and a 16-bit offset hold
constexpr std::uint8_t kMostOptionBytes = 40;    // RFC 791 and RFC 9293: IHL, data offset of 15
constexpr std::uint8_t kMostGeneveOptionBytes = 128;  // RFC 8926: 5 bits of length in one option
constexpr std::array<const char*, kChecksumModes> kModeNames = {
    "software", "offload",           "zero",    "pseudo", "complement",
    "plus-one", "stale-source-port", "swapped", "random"};

std::uint16_t narrow(std::size_t offset) {
    return static_cast<std::uint16_t>(offset);
}

std::size_t link_bytes(const PacketSpec& packet, Carries carries) {
    if (carries == Carries::kIp) {
        return 0;
    }
    return sizeof(rte_ether_hdr) + packet.vlans * sizeof(rte_vlan_hdr);
}

PacketLayout place(const PacketSpec& packet, std::size_t at, Carries carries,
                   std::uint16_t transport_bytes) {
    PacketLayout layout;
    layout.ethernet = narrow(at);
    layout.network = narrow(at + link_bytes(packet, carries));
    layout.transport = narrow(layout.network + network_bytes(packet));
    layout.payload = narrow(layout.transport + transport_bytes);
    return layout;
}

std::size_t packet_bytes(const PacketSpec& packet, Carries carries) {
    return link_bytes(packet, carries) + network_bytes(packet) + shape_of(packet).header_bytes +
           packet.trailer.size();
}

// The frame's length, wherever it may end.
std::size_t bytes_of(const FrameSpec& spec) {
    const Carries carries = spec.tunnel ? spec.tunnel->carries : Carries::kEthernet;
    std::size_t bytes = packet_bytes(spec.packet, carries) + spec.payload.size();
    if (spec.tunnel) {
        bytes += packet_bytes(spec.tunnel->outer, Carries::kEthernet) +
                 tunnel_header_bytes(*spec.tunnel);
    }
    return bytes;
}

Status check_options(const PacketSpec& packet, std::string_view which) {
    if (packet.ipv4_option_bytes > kMostOptionBytes || packet.ipv4_option_bytes % 4 != 0 ||
        packet.tcp_option_bytes > kMostOptionBytes || packet.tcp_option_bytes % 4 != 0) {
        return fail(ErrorCode::kBadInput,
                    "{}: {} bytes of IPv4 and {} of TCP options; both are multiples of 4 up to {}",
                    which, packet.ipv4_option_bytes, packet.tcp_option_bytes, kMostOptionBytes);
    }
    if (packet.tcp_option_bytes > 0 && packet.transport != Transport::kTcp) {
        return fail(ErrorCode::kBadInput, "{}: TCP options without TCP", which);
    }
    if (is_ipv4(packet) && !packet.extensions.empty()) {
        return fail(ErrorCode::kBadInput, "{}: extension headers need IPv6", which);
    }
    if (!is_ipv4(packet) && packet.ipv4_option_bytes > 0) {
        return fail(ErrorCode::kBadInput, "{}: IPv4 options need IPv4", which);
    }
    if (packet.flow_label > 0xfffff) {
        return fail(ErrorCode::kBadInput, "{}: flow label {} is over 20 bits", which,
                    packet.flow_label);
    }
    return {};
}

Status check_fragment(const PacketSpec& packet, std::string_view which) {
    if (!packet.fragment) {
        return {};
    }
    if (packet.transport != Transport::kOther) {
        return fail(ErrorCode::kBadInput,
                    "{}: a fragment's transport is opaque; give it as payload of protocol {}",
                    which, shape_of(packet).protocol);
    }
    if (packet.fragment->offset % 8 != 0) {
        return fail(ErrorCode::kBadInput, "{}: fragment offset {} is no multiple of 8", which,
                    packet.fragment->offset);
    }
    return {};
}

Status check_sctp_mode(ChecksumMode mode, std::string_view which) {
    switch (mode) {
        case ChecksumMode::kSoftware:
        case ChecksumMode::kOffload:
        case ChecksumMode::kZero:
        case ChecksumMode::kComplement: return {};
        case ChecksumMode::kPseudo:
        case ChecksumMode::kPlusOne:
        case ChecksumMode::kStaleSourcePort:
        case ChecksumMode::kSwapped:
        case ChecksumMode::kRandom: break;
    }
    return fail(ErrorCode::kBadInput, "{}: SCTP has no checksum mode '{}'", which, name(mode));
}

Status check_modes(const PacketSpec& packet, std::string_view which, std::uint16_t stale_port) {
    if (packet.ip_checksum == ChecksumMode::kPseudo ||
        packet.ip_checksum == ChecksumMode::kStaleSourcePort) {
        return fail(
            ErrorCode::kBadInput,
            "{}: the IPv4 header checksum has no pseudo-header and no ports; choose another "
            "mode than '{}'",
            which, name(packet.ip_checksum));
    }
    const ChecksumMode mode = packet.transport_checksum;
    if (packet.transport == Transport::kSctp) {
        return check_sctp_mode(mode, which);
    }
    if (is_echo(packet) &&
        (mode == ChecksumMode::kOffload || mode == ChecksumMode::kStaleSourcePort)) {
        return fail(ErrorCode::kBadInput, "{}: ICMP has no checksum mode '{}'", which, name(mode));
    }
    if (packet.transport == Transport::kIcmp && mode == ChecksumMode::kPseudo) {
        return fail(ErrorCode::kBadInput, "{}: ICMP over IPv4 has no pseudo-header", which);
    }
    if (mode == ChecksumMode::kStaleSourcePort && packet.source.port == stale_port) {
        return fail(ErrorCode::kBadInput,
                    "{}: the stale source port {} is the source port itself; choose another", which,
                    stale_port);
    }
    return {};
}

Status check_transport(const PacketSpec& packet, std::string_view which) {
    switch (packet.transport) {
        case Transport::kUdp:
        case Transport::kTcp:
        case Transport::kSctp:
        case Transport::kOther: return {};
        case Transport::kIcmp:
        case Transport::kIcmpv6:
            if ((packet.transport == Transport::kIcmp) != is_ipv4(packet)) {
                return fail(ErrorCode::kBadInput, "{}: ICMP goes over IPv4 and ICMPv6 over IPv6",
                            which);
            }
            return {};
        case Transport::kNone:
        case Transport::kUdpLite:
        case Transport::kGre: break;
    }
    return fail(ErrorCode::kBadInput,
                "{}: only UDP, TCP, SCTP, ICMP echo and opaque payloads can be written", which);
}

Status check_packet(const PacketSpec& packet, std::string_view which) {
    if (packet.source.address.family != packet.destination.address.family) {
        return fail(ErrorCode::kBadInput, "{}: source {} and destination {} are of two families",
                    which, to_string(packet.source.address), to_string(packet.destination.address));
    }
    if (packet.vlans > packet.vlan.size()) {
        return fail(ErrorCode::kBadInput, "{}: {} VLAN tags; at most {} can be written", which,
                    packet.vlans, packet.vlan.size());
    }
    TRY(check_options(packet, which));
    TRY(check_fragment(packet, which));
    return check_transport(packet, which);
}

Status check_carried(const TunnelSpec& tunnel, const PacketSpec& inner) {
    if (tunnel.carries == Carries::kIp && tunnel.kind == Tunnel::kVxlan) {
        return fail(ErrorCode::kBadInput, "tunnel: VXLAN carries Ethernet frames only");
    }
    if (tunnel.carries == Carries::kEthernet && tunnel.kind == Tunnel::kIpInIp) {
        return fail(ErrorCode::kBadInput, "tunnel: IP in IP carries IP packets only");
    }
    if (tunnel.carries == Carries::kIp && (inner.vlans > 0 || !inner.trailer.empty())) {
        return fail(ErrorCode::kBadInput,
                    "inner packet: VLAN tags and a trailer need an inner Ethernet frame");
    }
    return {};
}

Status check_tunnel(const TunnelSpec& tunnel, const FrameSpec& spec) {
    const PacketSpec& outer = tunnel.outer;
    const Transport wanted = over_udp(tunnel.kind) ? Transport::kUdp : Transport::kOther;
    if (tunnel.kind == Tunnel::kNone || outer.transport != wanted || outer.fragment) {
        return fail(ErrorCode::kBadInput,
                    "outer packet: VXLAN goes over UDP, as VXLAN-GPE and GENEVE do, GRE and IP in "
                    "IP over IP alone; none can be written as a fragment");
    }
    TRY(check_packet(outer, "outer packet"));
    TRY(check_modes(outer, "outer packet", spec.stale_source_port));
    if (tunnel.vni > 0xffffff) {
        return fail(ErrorCode::kBadInput, "VNI {} is over 24 bits", tunnel.vni);
    }
    if (tunnel.geneve_option_bytes % 4 != 0 ||
        tunnel.geneve_option_bytes > kMostGeneveOptionBytes) {
        return fail(ErrorCode::kBadInput,
                    "tunnel: {} bytes of GENEVE options; one option has a multiple of 4 up to {}",
                    tunnel.geneve_option_bytes, kMostGeneveOptionBytes);
    }
    return check_carried(tunnel, spec.packet);
}

// A NIC that cuts writes each segment's IPv4 headers anew (rte_mbuf_core.h, RTE_MBUF_F_TX_TCP_SEG).
bool headers_left_to_nic(const FrameSpec& spec) {
    const auto left = [](const PacketSpec& packet) {
        return !is_ipv4(packet) || packet.ip_checksum == ChecksumMode::kOffload;
    };
    return left(spec.packet) && (!spec.tunnel || left(spec.tunnel->outer));
}

Status check_segments(const FrameSpec& spec) {
    if (spec.segment_bytes == 0) {
        return {};
    }
    const PacketSpec& packet = spec.packet;
    const bool offload = packet.transport_checksum == ChecksumMode::kOffload;
    const bool known = packet.transport == Transport::kTcp || packet.transport == Transport::kUdp;
    const bool asked = offload || packet.transport_checksum == ChecksumMode::kPseudo;
    if (!known || !asked || !packet.trailer.empty()) {
        return fail(ErrorCode::kBadInput,
                    "only TCP and UDP are cut into segments, with the checksum mode 'offload' or "
                    "'pseudo' and without trailer");
    }
    if (offload && !headers_left_to_nic(spec)) {
        return fail(ErrorCode::kBadInput,
                    "a NIC that cuts writes all IPv4 headers; give them the checksum mode "
                    "'offload' too");
    }
    return {};
}

}  // namespace

const char* name(ChecksumMode mode) {
    return kModeNames[static_cast<std::size_t>(mode)];
}

std::optional<ChecksumMode> checksum_mode(std::string_view name) {
    const auto found = std::ranges::find(kModeNames, name);
    if (found == kModeNames.end()) {
        return std::nullopt;
    }
    return static_cast<ChecksumMode>(found - kModeNames.begin());
}

FrameLayout layout_of(const FrameSpec& spec) noexcept {
    FrameLayout layout;
    Carries carries = Carries::kEthernet;
    if (spec.tunnel) {
        const TunnelSpec& tunnel = *spec.tunnel;
        layout.outer = place(tunnel.outer, 0, carries, shape_of(tunnel.outer).header_bytes);
        layout.tunnel = layout.outer.payload;
        carries = tunnel.carries;
    }
    const std::size_t at = spec.tunnel ? layout.tunnel + tunnel_header_bytes(*spec.tunnel) : 0u;
    layout.packet = place(spec.packet, at, carries, shape_of(spec.packet).header_bytes);
    layout.packet.end = narrow(layout.packet.payload + spec.payload.size());
    layout.end = narrow(layout.packet.end + spec.packet.trailer.size());
    if (spec.tunnel) {
        layout.outer.end = layout.end;
        layout.end = narrow(layout.end + spec.tunnel->outer.trailer.size());
    }
    return layout;
}

Status check(const FrameSpec& spec) {
    const std::string_view which = spec.tunnel ? "inner packet" : "packet";
    TRY(check_packet(spec.packet, which));
    TRY(check_modes(spec.packet, which, spec.stale_source_port));
    if (spec.tunnel) {
        TRY(check_tunnel(*spec.tunnel, spec));
    }
    TRY(check_segments(spec));
    const std::size_t most = spec.segment_bytes > 0 ? kMostSuperBytes : kMostBytes;
    if (const std::size_t bytes = bytes_of(spec); bytes > most) {
        return fail(ErrorCode::kBadInput,
                    "a payload of {} bytes makes a frame of {}; at most {} can be written",
                    spec.payload.size(), bytes, most);
    }
    return {};
}

}  // namespace pathproof::frame
