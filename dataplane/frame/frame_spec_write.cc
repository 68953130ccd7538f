#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <rte_ether.h>
#include <rte_geneve.h>
#include <rte_gre.h>
#include <rte_icmp.h>
#include <rte_ip.h>
#include <rte_sctp.h>
#include <rte_tcp.h>
#include <rte_udp.h>
#include <rte_vxlan.h>

#include <algorithm>
#include <cstring>

#include "dataplane/frame/frame_spec.h"
#include "dataplane/frame/transport_shape.h"

namespace pathproof::frame {
namespace {

constexpr std::uint8_t kNop = 1;  // RFC 791 section 3.1, RFC 9293 section 3.1
constexpr std::uint8_t kPadN = 1;
constexpr std::uint16_t kGreKeyPresent = 0x2000;
constexpr std::uint8_t kVxlanFlagI = 0x08;
constexpr std::uint8_t kVxlanFlagG = 0x80;
constexpr std::uint8_t kGpeFlagsIP = 0x0c;  // I and P: the next-protocol field counts
constexpr std::uint8_t kGpeIpv4 = 1;
constexpr std::uint8_t kGpeIpv6 = 2;
constexpr std::uint8_t kGpeEthernet = 3;

rte_be16_t net16(std::uint16_t host) {
    return __builtin_bswap16(host);
}
rte_be32_t net32(std::uint32_t host) {
    return __builtin_bswap32(host);
}

std::uint16_t ether_type(const PacketSpec& packet) {
    return is_ipv4(packet) ? RTE_ETHER_TYPE_IPV4 : RTE_ETHER_TYPE_IPV6;
}

std::uint16_t carried_type(const TunnelSpec& tunnel, const PacketSpec& inner) {
    return tunnel.carries == Carries::kEthernet ? std::uint16_t{RTE_ETHER_TYPE_TEB}
                                                : ether_type(inner);
}

std::uint8_t carried_gpe_protocol(const TunnelSpec& tunnel, const PacketSpec& inner) {
    if (tunnel.carries == Carries::kEthernet) {
        return kGpeEthernet;
    }
    return is_ipv4(inner) ? kGpeIpv4 : kGpeIpv6;
}

// Places headers into the frame; layout_of() made the room, zeroed.
class FrameWriter {
  public:
    explicit FrameWriter(std::span<std::uint8_t> out) : out_(out) {}

    void write(const PacketSpec& packet, const PacketLayout& layout, std::uint8_t protocol) {
        if (layout.network > layout.ethernet) {
            write_ethernet(packet, layout);
        }
        if (is_ipv4(packet)) {
            write_ipv4(packet, layout, protocol);
        } else {
            write_ipv6(packet, layout, protocol);
        }
        write_transport(packet, layout);
        std::ranges::copy(packet.trailer, out_.data() + layout.end);
    }

    void write_tunnel(const TunnelSpec& tunnel, const PacketSpec& inner, std::size_t at) {
        switch (tunnel.kind) {
            case Tunnel::kVxlan: write_vxlan(tunnel, at); break;
            case Tunnel::kVxlanGpe: write_gpe(tunnel, inner, at); break;
            case Tunnel::kGeneve: write_geneve(tunnel, inner, at); break;
            case Tunnel::kGre: write_gre(tunnel, inner, at); break;
            case Tunnel::kNone:
            case Tunnel::kIpInIp: break;
        }
    }

  private:
    template <typename T>
    void put(std::size_t offset, const T& header) {
        std::memcpy(out_.data() + offset, &header, sizeof header);
    }

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
        put(at, net16(ether_type(packet)));
    }

    static std::uint16_t ipv4_fragment_field(const PacketSpec& packet) {
        if (!packet.fragment) {
            return RTE_IPV4_HDR_DF_FLAG;
        }
        const std::uint16_t more = packet.fragment->more ? RTE_IPV4_HDR_MF_FLAG : 0;
        return static_cast<std::uint16_t>(more | packet.fragment->offset / 8);
    }

    void write_ipv4(const PacketSpec& packet, const PacketLayout& layout, std::uint8_t protocol) {
        const std::size_t words = (sizeof(rte_ipv4_hdr) + packet.ipv4_option_bytes) / 4;
        rte_ipv4_hdr header{};
        header.version_ihl = static_cast<std::uint8_t>(4 << 4 | words);
        header.type_of_service = packet.traffic_class;
        header.total_length = net16(static_cast<std::uint16_t>(layout.end - layout.network));
        header.packet_id = net16(packet.identification);
        header.fragment_offset = net16(ipv4_fragment_field(packet));
        header.time_to_live = packet.hop_limit;
        header.next_proto_id = protocol;
        header.src_addr = net32(packet.source.address.v4_host_order());
        header.dst_addr = net32(packet.destination.address.v4_host_order());
        put(layout.network, header);
        std::fill_n(out_.data() + layout.network + sizeof header, packet.ipv4_option_bytes, kNop);
    }

    static std::uint8_t next_header(Extension extension) {
        switch (extension) {
            case Extension::kHopByHop: return IPPROTO_HOPOPTS;
            case Extension::kDestination: return IPPROTO_DSTOPTS;
            case Extension::kRouting: break;
        }
        return IPPROTO_ROUTING;
    }

    void write_ipv6(const PacketSpec& packet, const PacketLayout& layout, std::uint8_t protocol) {
        const std::size_t after = layout.network + sizeof(rte_ipv6_hdr);
        rte_ipv6_hdr header{};
        header.vtc_flow =
            net32(0x60000000u | std::uint32_t{packet.traffic_class} << 20 | packet.flow_label);
        header.payload_len = net16(static_cast<std::uint16_t>(layout.end - after));
        header.hop_limits = packet.hop_limit;
        std::memcpy(&header.src_addr, packet.source.address.bytes.data(), sizeof header.src_addr);
        std::memcpy(&header.dst_addr, packet.destination.address.bytes.data(),
                    sizeof header.dst_addr);
        put(layout.network, header);
        // Each header's number stands in the one before it.
        std::size_t link = layout.network + offsetof(rte_ipv6_hdr, proto);
        std::size_t at = after;
        for (const Extension extension : packet.extensions) {
            out_[link] = next_header(extension);
            link = at;
            at = write_extension(packet, extension, at);
        }
        if (packet.fragment) {
            out_[link] = IPPROTO_FRAGMENT;
            link = at;
            write_fragment_header(*packet.fragment, at);
        }
        out_[link] = protocol;
    }

    // Gives the place behind it.
    std::size_t write_extension(const PacketSpec& packet, Extension extension, std::size_t at) {
        if (extension != Extension::kRouting) {
            out_[at + 2] = kPadN;
            out_[at + 3] = 4;
            return at + 8;
        }
        out_[at + 1] = 2;  // in 8 bytes, without the first 8
        out_[at + 2] = 2;  // routing type
        out_[at + 3] = 1;  // segments left
        std::ranges::copy(packet.final_destination.bytes, out_.data() + at + 8);
        return at + 24;
    }

    void write_fragment_header(const FragmentSpec& fragment, std::size_t at) {
        put(at + 2, net16(static_cast<std::uint16_t>(fragment.offset | (fragment.more ? 1 : 0))));
        put(at + 4, net32(fragment.identification));
    }

    void write_transport(const PacketSpec& packet, const PacketLayout& layout) {
        switch (packet.transport) {
            case Transport::kUdp: write_udp(packet, layout); break;
            case Transport::kTcp: write_tcp(packet, layout.transport); break;
            case Transport::kIcmp: write_echo(packet, layout.transport, ICMP_ECHO); break;
            case Transport::kIcmpv6: write_echo(packet, layout.transport, 128); break;
            case Transport::kSctp:
                put(layout.transport, rte_sctp_hdr{.src_port = net16(packet.source.port),
                                                   .dst_port = net16(packet.destination.port),
                                                   .tag = net32(0x70617468),
                                                   .cksum = 0});
                break;
            case Transport::kNone:
            case Transport::kOther:
            case Transport::kUdpLite:
            case Transport::kGre: break;
        }
    }

    void write_udp(const PacketSpec& packet, const PacketLayout& layout) {
        const auto length = static_cast<std::uint16_t>(layout.end - layout.transport);
        put(layout.transport, rte_udp_hdr{.src_port = net16(packet.source.port),
                                          .dst_port = net16(packet.destination.port),
                                          .dgram_len = net16(length),
                                          .dgram_cksum = 0});
    }

    void write_tcp(const PacketSpec& packet, std::size_t at) {
        const std::size_t words = (sizeof(rte_tcp_hdr) + packet.tcp_option_bytes) / 4;
        rte_tcp_hdr header{};
        header.src_port = net16(packet.source.port);
        header.dst_port = net16(packet.destination.port);
        header.sent_seq = net32(packet.tcp_sequence);
        header.recv_ack = net32(packet.tcp_acknowledgement);
        header.data_off = static_cast<std::uint8_t>(words << 4);
        header.tcp_flags = packet.tcp_flags;
        header.rx_win = 0xffff;
        put(at, header);
        write_tcp_options(at + sizeof header, packet.tcp_option_bytes);
    }

    void write_tcp_options(std::size_t at, std::uint8_t bytes) {
        constexpr std::uint8_t kTimestamps[] = {kNop, kNop, 8, 10, 0, 1, 2, 3, 4, 5, 6, 7};
        std::size_t written = 0;
        if (bytes >= sizeof kTimestamps) {
            put(at, kTimestamps);
            written = sizeof kTimestamps;
        }
        std::fill_n(out_.data() + at + written, bytes - written, kNop);
    }

    void write_echo(const PacketSpec& packet, std::size_t at, std::uint8_t type) {
        put(at, rte_icmp_hdr{.icmp_type = type,
                             .icmp_code = 0,
                             .icmp_cksum = 0,
                             .icmp_ident = net16(packet.source.port),
                             .icmp_seq_nb = net16(packet.destination.port)});
    }

    void write_vxlan(const TunnelSpec& tunnel, std::size_t at) {
        out_[at] = kVxlanFlagI;
        if (tunnel.group_policy) {
            out_[at] |= kVxlanFlagG;
            put(at + 2, net16(*tunnel.group_policy));
        }
        put(at + 4, net32(tunnel.vni << 8));
    }

    void write_gpe(const TunnelSpec& tunnel, const PacketSpec& inner, std::size_t at) {
        out_[at] = kGpeFlagsIP;
        out_[at + 3] = carried_gpe_protocol(tunnel, inner);
        put(at + 4, net32(tunnel.vni << 8));
    }

    // One option of the class set aside for experiments (RFC 8926 section 7), its data counting up.
    void write_geneve(const TunnelSpec& tunnel, const PacketSpec& inner, std::size_t at) {
        const std::uint8_t bytes = tunnel.geneve_option_bytes;
        out_[at] = bytes / 4;
        put(at + 2, net16(carried_type(tunnel, inner)));
        put(at + 4, net32(tunnel.vni << 8));
        if (bytes == 0) {
            return;
        }
        put(at + 8, net16(0xff00));
        out_[at + 10] = 1;
        out_[at + 11] = static_cast<std::uint8_t>(bytes / 4 - 1);
        for (std::uint8_t i = 4; i < bytes; ++i) {
            out_[at + 8 + i] = i;
        }
    }

    void write_gre(const TunnelSpec& tunnel, const PacketSpec& inner, std::size_t at) {
        put(at, net16(tunnel.gre_key ? kGreKeyPresent : std::uint16_t{0}));
        put(at + 2, net16(carried_type(tunnel, inner)));
        if (tunnel.gre_key) {
            put(at + 4, net32(*tunnel.gre_key));
        }
    }

    std::span<std::uint8_t> out_;
};

}  // namespace

void write_without_checksums(std::span<std::uint8_t> out, const FrameSpec& spec,
                             const FrameLayout& layout) noexcept {
    std::ranges::fill(out, std::uint8_t{0});
    FrameWriter writer(out);
    if (spec.tunnel) {
        const TunnelSpec& tunnel = *spec.tunnel;
        writer.write(tunnel.outer, layout.outer, protocol_of(tunnel, spec.packet));
        writer.write_tunnel(tunnel, spec.packet, layout.tunnel);
    }
    writer.write(spec.packet, layout.packet, shape_of(spec.packet).protocol);
    std::ranges::copy(spec.payload, out.data() + layout.packet.payload);
}

}  // namespace pathproof::frame
