#include "dataplane/frame/frame_spec.h"

#include <netinet/in.h>
#include <rte_ether.h>
#include <rte_icmp.h>
#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>
#include <rte_vxlan.h>

#include <algorithm>

namespace pathproof::frame {
namespace {

constexpr std::size_t kMostBytes = 9000;
constexpr std::array<const char*, kChecksumModes> kModeNames = {
    "software", "offload",           "zero",    "pseudo", "complement",
    "plus-one", "stale-source-port", "swapped", "random"};

rte_be16_t net16(std::uint16_t host) {
    return __builtin_bswap16(host);
}
rte_be32_t net32(std::uint32_t host) {
    return __builtin_bswap32(host);
}

bool is_ipv4(const PacketSpec& packet) {
    return packet.source.address.family == Family::kIpv4;
}

std::uint16_t transport_bytes(Transport transport) {
    switch (transport) {
        case Transport::kTcp:
            return sizeof(rte_tcp_hdr);
        case Transport::kIcmp:
        case Transport::kIcmpv6:
            return sizeof(rte_icmp_hdr);
        case Transport::kUdp:
        case Transport::kNone:
        case Transport::kOther:
        case Transport::kSctp:
        case Transport::kUdpLite:
        case Transport::kGre:
            break;
    }
    return sizeof(rte_udp_hdr);
}

std::uint8_t protocol_of(Transport transport) {
    switch (transport) {
        case Transport::kTcp:
            return IPPROTO_TCP;
        case Transport::kIcmp:
            return IPPROTO_ICMP;
        case Transport::kIcmpv6:
            return IPPROTO_ICMPV6;
        case Transport::kUdp:
        case Transport::kNone:
        case Transport::kOther:
        case Transport::kSctp:
        case Transport::kUdpLite:
        case Transport::kGre:
            break;
    }
    return IPPROTO_UDP;
}

PacketLayout place(const PacketSpec& packet, std::size_t at) {
    PacketLayout layout;
    layout.ethernet = static_cast<std::uint16_t>(at);
    at += sizeof(rte_ether_hdr) + packet.vlans * sizeof(rte_vlan_hdr);
    layout.network = static_cast<std::uint16_t>(at);
    at += is_ipv4(packet) ? sizeof(rte_ipv4_hdr) : sizeof(rte_ipv6_hdr);
    layout.transport = static_cast<std::uint16_t>(at);
    layout.payload = static_cast<std::uint16_t>(at + transport_bytes(packet.transport));
    return layout;
}

// Places headers into the frame; layout_of() made the room.
class FrameWriter {
  public:
    FrameWriter(std::span<std::uint8_t> out, std::uint16_t end) : out_(out), end_(end) {}

    void write(const PacketSpec& packet, const PacketLayout& layout) {
        write_ethernet(packet, layout);
        const auto length = static_cast<std::uint16_t>(end_ - layout.transport);
        if (is_ipv4(packet)) {
            write_ipv4(packet, layout);
        } else {
            write_ipv6(packet, layout, length);
        }
        switch (packet.transport) {
            case Transport::kTcp:
                write_tcp(packet, layout.transport);
                break;
            case Transport::kIcmp:
                write_echo(packet, layout.transport, RTE_IP_ICMP_ECHO_REQUEST);
                break;
            case Transport::kIcmpv6:
                write_echo(packet, layout.transport, 128);
                break;
            case Transport::kUdp:
            case Transport::kNone:
            case Transport::kOther:
            case Transport::kSctp:
            case Transport::kUdpLite:
            case Transport::kGre:
                write_udp(packet, layout.transport, length);
                break;
        }
    }
    template <typename T>
    void put(std::size_t offset, const T& header) {
        std::memcpy(out_.data() + offset, &header, sizeof header);
    }

  private:
    void write_ethernet(const PacketSpec& packet, const PacketLayout& layout) {
        rte_ether_hdr header{};
        std::ranges::copy(packet.destination_mac.bytes, header.dst_addr.addr_bytes);
        std::ranges::copy(packet.source_mac.bytes, header.src_addr.addr_bytes);
        put(layout.ethernet, header);
        std::size_t at = layout.ethernet + offsetof(rte_ether_hdr, ether_type);
        for (std::size_t i = 0; i < packet.vlans; ++i, at += sizeof(rte_vlan_hdr)) {
            put(at, net16(packet.vlan[i].type));
            put(at + 2, net16(packet.vlan[i].control));
        }
        put(at, net16(is_ipv4(packet) ? RTE_ETHER_TYPE_IPV4 : RTE_ETHER_TYPE_IPV6));
    }

    void write_ipv4(const PacketSpec& packet, const PacketLayout& layout) {
        rte_ipv4_hdr header{};
        header.version_ihl = RTE_IPV4_VHL_DEF;
        header.type_of_service = packet.traffic_class;
        header.total_length = net16(static_cast<std::uint16_t>(end_ - layout.network));
        header.packet_id = net16(packet.identification);
        header.fragment_offset = net16(RTE_IPV4_HDR_DF_FLAG);
        header.time_to_live = packet.hop_limit;
        header.next_proto_id = protocol_of(packet.transport);
        header.src_addr = net32(packet.source.address.v4_host_order());
        header.dst_addr = net32(packet.destination.address.v4_host_order());
        put(layout.network, header);
    }

    void write_ipv6(const PacketSpec& packet, const PacketLayout& layout, std::uint16_t length) {
        rte_ipv6_hdr header{};
        header.vtc_flow = net32(0x60000000u | std::uint32_t{packet.traffic_class} << 20);
        header.payload_len = net16(length);
        header.proto = protocol_of(packet.transport);
        header.hop_limits = packet.hop_limit;
        std::ranges::copy(packet.source.address.bytes, header.src_addr);
        std::ranges::copy(packet.destination.address.bytes, header.dst_addr);
        put(layout.network, header);
    }

    void write_udp(const PacketSpec& packet, std::size_t at, std::uint16_t length) {
        put(at, rte_udp_hdr{.src_port = net16(packet.source.port),
                            .dst_port = net16(packet.destination.port),
                            .dgram_len = net16(length),
                            .dgram_cksum = 0});
    }

    void write_tcp(const PacketSpec& packet, std::size_t at) {
        rte_tcp_hdr header{};
        header.src_port = net16(packet.source.port);
        header.dst_port = net16(packet.destination.port);
        header.sent_seq = net32(packet.tcp_sequence);
        header.recv_ack = net32(packet.tcp_acknowledgement);
        header.data_off = sizeof(rte_tcp_hdr) / 4 << 4;
        header.tcp_flags = packet.tcp_flags;
        header.rx_win = 0xffff;
        put(at, header);
    }

    void write_echo(const PacketSpec& packet, std::size_t at, std::uint8_t type) {
        put(at, rte_icmp_hdr{.icmp_type = type,
                             .icmp_code = 0,
                             .icmp_cksum = 0,
                             .icmp_ident = net16(packet.source.port),
                             .icmp_seq_nb = net16(packet.destination.port)});
    }

    std::span<std::uint8_t> out_;
    std::uint16_t end_;
};

bool is_echo(const PacketSpec& packet) {
    return packet.transport == Transport::kIcmp || packet.transport == Transport::kIcmpv6;
}

Status check_modes(const PacketSpec& packet, std::string_view which, std::uint16_t stale_port) {
    switch (packet.ip_checksum) {
        case ChecksumMode::kPseudo:
        case ChecksumMode::kStaleSourcePort:
            return fail(
                ErrorCode::kBadInput,
                "{}: the IPv4 header checksum has no pseudo-header and no ports; choose another "
                "mode than '{}'",
                which, name(packet.ip_checksum));
        default:
            break;
    }
    const bool no_ports = is_echo(packet);
    const ChecksumMode mode = packet.transport_checksum;
    if (no_ports && (mode == ChecksumMode::kOffload || mode == ChecksumMode::kStaleSourcePort)) {
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

Status check_packet(const PacketSpec& packet, std::string_view which) {
    if (packet.source.address.family != packet.destination.address.family) {
        return fail(ErrorCode::kBadInput, "{}: source {} and destination {} are of two families",
                    which, to_string(packet.source.address), to_string(packet.destination.address));
    }
    if (packet.vlans > packet.vlan.size()) {
        return fail(ErrorCode::kBadInput, "{}: {} VLAN tags; at most {} can be written", which,
                    packet.vlans, packet.vlan.size());
    }
    switch (packet.transport) {
        case Transport::kUdp:
        case Transport::kTcp:
            return {};
        case Transport::kIcmp:
        case Transport::kIcmpv6:
            if ((packet.transport == Transport::kIcmp) != is_ipv4(packet)) {
                return fail(ErrorCode::kBadInput, "{}: ICMP goes over IPv4 and ICMPv6 over IPv6",
                            which);
            }
            return {};
        case Transport::kNone:
        case Transport::kOther:
        case Transport::kSctp:
        case Transport::kUdpLite:
        case Transport::kGre:
            break;
    }
    return fail(ErrorCode::kBadInput, "{}: only UDP, TCP and ICMP echo can be written", which);
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
    std::size_t inner = 0;
    if (spec.tunnel) {
        layout.outer = place(spec.tunnel->outer, 0);
        layout.vxlan = layout.outer.payload;
        inner = layout.vxlan + sizeof(rte_vxlan_hdr);
    }
    layout.packet = place(spec.packet, inner);
    layout.end = static_cast<std::uint16_t>(layout.packet.payload + spec.payload.size());
    return layout;
}

Status check(const FrameSpec& spec) {
    const std::string_view which = spec.tunnel ? "inner packet" : "packet";
    if (Status status = check_packet(spec.packet, which); !status) {
        return status;
    }
    if (Status status = check_modes(spec.packet, which, spec.stale_source_port); !status) {
        return status;
    }
    if (spec.tunnel) {
        const PacketSpec& outer = spec.tunnel->outer;
        if (outer.transport != Transport::kUdp) {
            return fail(ErrorCode::kBadInput, "outer packet: VXLAN goes over UDP");
        }
        if (Status status = check_packet(outer, "outer packet"); !status) {
            return status;
        }
        if (Status status = check_modes(outer, "outer packet", spec.stale_source_port); !status) {
            return status;
        }
        if (spec.tunnel->vni > 0xffffff) {
            return fail(ErrorCode::kBadInput, "VNI {} is over 24 bits", spec.tunnel->vni);
        }
    }
    constexpr std::size_t kMostHeaders = 200;
    if (spec.payload.size() > kMostBytes - kMostHeaders) {
        return fail(ErrorCode::kBadInput, "a payload of {} bytes is over the {} that fit a frame",
                    spec.payload.size(), kMostBytes - kMostHeaders);
    }
    return {};
}

void write_without_checksums(std::span<std::uint8_t> out, const FrameSpec& spec,
                             const FrameLayout& layout) noexcept {
    FrameWriter writer(out, layout.end);
    if (spec.tunnel) {
        writer.write(spec.tunnel->outer, layout.outer);
        writer.put(layout.vxlan, rte_vxlan_hdr{.vx_flags = net32(0x08000000),
                                               .vx_vni = net32(spec.tunnel->vni << 8)});
    }
    writer.write(spec.packet, layout.packet);
    std::ranges::copy(spec.payload, out.data() + layout.packet.payload);
}

}  // namespace pathproof::frame
