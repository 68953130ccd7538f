#include "dataplane/frame/transport_shape.h"

#include <netinet/in.h>
#include <rte_geneve.h>
#include <rte_gre.h>
#include <rte_icmp.h>
#include <rte_ip.h>
#include <rte_sctp.h>
#include <rte_tcp.h>
#include <rte_udp.h>
#include <rte_vxlan.h>

#include <cstddef>

namespace pathproof::frame {
namespace {

constexpr std::uint16_t kOptionsBytes = 8;  // hop-by-hop and destination options, PadN inside
constexpr std::uint16_t kRoutingBytes = 24;
constexpr std::uint16_t kFragmentBytes = 8;

std::uint16_t extension_bytes(const PacketSpec& packet) {
    std::uint16_t bytes = packet.fragment ? kFragmentBytes : 0;
    for (const Extension extension : packet.extensions) {
        bytes = static_cast<std::uint16_t>(
            bytes + (extension == Extension::kRouting ? kRoutingBytes : kOptionsBytes));
    }
    return bytes;
}

}  // namespace

TransportShape shape_of(const PacketSpec& packet) noexcept {
    switch (packet.transport) {
        case Transport::kUdp:
            return {IPPROTO_UDP, sizeof(rte_udp_hdr), offsetof(rte_udp_hdr, dgram_cksum),
                    PseudoHeader::kSummed};
        case Transport::kTcp:
            return {IPPROTO_TCP,
                    static_cast<std::uint16_t>(sizeof(rte_tcp_hdr) + packet.tcp_option_bytes),
                    offsetof(rte_tcp_hdr, cksum), PseudoHeader::kSummed};
        case Transport::kIcmp:
            return {IPPROTO_ICMP, sizeof(rte_icmp_hdr), offsetof(rte_icmp_hdr, icmp_cksum),
                    PseudoHeader::kNone};
        case Transport::kIcmpv6:
            return {IPPROTO_ICMPV6, sizeof(rte_icmp_hdr), offsetof(rte_icmp_hdr, icmp_cksum),
                    PseudoHeader::kSummed};
        case Transport::kSctp:
            return {IPPROTO_SCTP, sizeof(rte_sctp_hdr), std::nullopt, PseudoHeader::kNone};
        case Transport::kNone:
        case Transport::kOther:
        case Transport::kUdpLite:
        case Transport::kGre: break;
    }
    return {packet.protocol, 0, std::nullopt, PseudoHeader::kNone};
}

bool over_udp(Tunnel kind) noexcept {
    return kind == Tunnel::kVxlan || kind == Tunnel::kVxlanGpe || kind == Tunnel::kGeneve;
}

std::uint8_t protocol_of(const TunnelSpec& tunnel, const PacketSpec& inner) noexcept {
    if (over_udp(tunnel.kind)) {
        return IPPROTO_UDP;
    }
    if (tunnel.kind == Tunnel::kGre) {
        return IPPROTO_GRE;
    }
    return is_ipv4(inner) ? IPPROTO_IPIP : IPPROTO_IPV6;
}

std::uint16_t tunnel_header_bytes(const TunnelSpec& tunnel) noexcept {
    switch (tunnel.kind) {
        case Tunnel::kVxlan:
        case Tunnel::kVxlanGpe: return sizeof(rte_vxlan_hdr);
        case Tunnel::kGeneve:
            return static_cast<std::uint16_t>(sizeof(rte_geneve_hdr) + tunnel.geneve_option_bytes);
        case Tunnel::kGre:
            return static_cast<std::uint16_t>(sizeof(rte_gre_hdr) +
                                              (tunnel.gre_key ? sizeof(rte_gre_hdr_opt_key) : 0));
        case Tunnel::kNone:
        case Tunnel::kIpInIp: break;
    }
    return 0;
}

std::uint16_t network_bytes(const PacketSpec& packet) noexcept {
    if (is_ipv4(packet)) {
        return static_cast<std::uint16_t>(sizeof(rte_ipv4_hdr) + packet.ipv4_option_bytes);
    }
    return static_cast<std::uint16_t>(sizeof(rte_ipv6_hdr) + extension_bytes(packet));
}

}  // namespace pathproof::frame
