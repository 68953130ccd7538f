#include "dataplane/frame/offload.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>

#include "dataplane/frame/transport_shape.h"

namespace pathproof::frame {
namespace {

bool ip_offloaded(const PacketSpec& packet) {
    return is_ipv4(packet) && packet.ip_checksum == ChecksumMode::kOffload;
}
bool transport_offloaded(const PacketSpec& packet) {
    return packet.transport_checksum == ChecksumMode::kOffload && shape_of(packet).header_bytes > 0;
}

std::uint16_t length(std::uint16_t from, std::uint16_t to) {
    return static_cast<std::uint16_t>(to - from);
}

struct TransportRequest {
    std::uint64_t mbuf_flag = 0;
    std::uint64_t port_offload = 0;
};

TransportRequest transport_request(Transport transport) {
    switch (transport) {
        case Transport::kUdp: return {RTE_MBUF_F_TX_UDP_CKSUM, RTE_ETH_TX_OFFLOAD_UDP_CKSUM};
        case Transport::kTcp: return {RTE_MBUF_F_TX_TCP_CKSUM, RTE_ETH_TX_OFFLOAD_TCP_CKSUM};
        case Transport::kSctp: return {RTE_MBUF_F_TX_SCTP_CKSUM, RTE_ETH_TX_OFFLOAD_SCTP_CKSUM};
        case Transport::kNone:
        case Transport::kIcmp:
        case Transport::kIcmpv6:
        case Transport::kOther:
        case Transport::kUdpLite:
        case Transport::kGre: break;
    }
    return {};
}

void ask_for_packet(OffloadRequest& request, const PacketSpec& packet) {
    request.mbuf_flags |= is_ipv4(packet) ? RTE_MBUF_F_TX_IPV4 : RTE_MBUF_F_TX_IPV6;
    if (ip_offloaded(packet)) {
        request.mbuf_flags |= RTE_MBUF_F_TX_IP_CKSUM;
        request.port_offloads |= RTE_ETH_TX_OFFLOAD_IPV4_CKSUM;
    }
    if (!transport_offloaded(packet)) {
        return;
    }
    const TransportRequest asked = transport_request(packet.transport);
    request.mbuf_flags |= asked.mbuf_flag;
    request.port_offloads |= asked.port_offload;
}

struct TunnelRequest {
    std::uint64_t mbuf_flag = 0;
    std::uint64_t segment_offload = 0;  // to cut TCP inside it
};

TunnelRequest tunnel_request(Tunnel kind) {
    switch (kind) {
        case Tunnel::kVxlan: return {RTE_MBUF_F_TX_TUNNEL_VXLAN, RTE_ETH_TX_OFFLOAD_VXLAN_TNL_TSO};
        case Tunnel::kVxlanGpe:
            return {RTE_MBUF_F_TX_TUNNEL_VXLAN_GPE, RTE_ETH_TX_OFFLOAD_UDP_TNL_TSO};
        case Tunnel::kGeneve:
            return {RTE_MBUF_F_TX_TUNNEL_GENEVE, RTE_ETH_TX_OFFLOAD_GENEVE_TNL_TSO};
        case Tunnel::kGre: return {RTE_MBUF_F_TX_TUNNEL_GRE, RTE_ETH_TX_OFFLOAD_GRE_TNL_TSO};
        case Tunnel::kIpInIp: return {RTE_MBUF_F_TX_TUNNEL_IPIP, RTE_ETH_TX_OFFLOAD_IPIP_TNL_TSO};
        case Tunnel::kNone: break;
    }
    return {};
}

// Cutting TCP implies its checksum, and over IPv4 that of every header (rte_mbuf_core.h).
void ask_for_segments(OffloadRequest& request, const FrameSpec& spec) {
    const bool tcp = spec.packet.transport == Transport::kTcp;
    request.segment_bytes = spec.segment_bytes;
    request.mbuf_flags &= ~RTE_MBUF_F_TX_L4_MASK;
    request.mbuf_flags |= tcp ? RTE_MBUF_F_TX_TCP_SEG : RTE_MBUF_F_TX_UDP_SEG;
    request.port_offloads |= tcp ? RTE_ETH_TX_OFFLOAD_TCP_TSO : RTE_ETH_TX_OFFLOAD_UDP_TSO;
    if (spec.tunnel && tcp) {
        request.port_offloads |= tunnel_request(spec.tunnel->kind).segment_offload;
    }
}

// The outer family and the tunnel's type are told even if only inner fields are asked for: a NIC
// finds the inner headers by them.
void ask_for_tunnel(OffloadRequest& request, const TunnelSpec& tunnel) {
    const PacketSpec& outer = tunnel.outer;
    request.mbuf_flags |= tunnel_request(tunnel.kind).mbuf_flag;
    request.mbuf_flags |= is_ipv4(outer) ? RTE_MBUF_F_TX_OUTER_IPV4 : RTE_MBUF_F_TX_OUTER_IPV6;
    if (ip_offloaded(outer)) {
        request.mbuf_flags |= RTE_MBUF_F_TX_OUTER_IP_CKSUM;
        request.port_offloads |= RTE_ETH_TX_OFFLOAD_OUTER_IPV4_CKSUM;
    }
    if (transport_offloaded(outer)) {
        request.mbuf_flags |= RTE_MBUF_F_TX_OUTER_UDP_CKSUM;
        request.port_offloads |= RTE_ETH_TX_OFFLOAD_OUTER_UDP_CKSUM;
    }
}

bool anything_offloaded(const PacketSpec& packet) {
    return ip_offloaded(packet) || transport_offloaded(packet);
}

}  // namespace

OffloadRequest offload_request(const FrameSpec& spec) noexcept {
    OffloadRequest request;
    const bool outer_asked = spec.tunnel && anything_offloaded(spec.tunnel->outer);
    if (!outer_asked && !anything_offloaded(spec.packet)) {
        return request;
    }
    const FrameLayout layout = layout_of(spec);
    std::uint16_t l2_start = 0;
    if (spec.tunnel) {
        ask_for_tunnel(request, *spec.tunnel);
        request.outer_l2_len = layout.outer.network;
        request.outer_l3_len = length(layout.outer.network, layout.outer.transport);
        l2_start = layout.outer.transport;
    }
    ask_for_packet(request, spec.packet);
    if (spec.segment_bytes > 0 && transport_offloaded(spec.packet)) {
        ask_for_segments(request, spec);
    }
    request.l2_len = length(l2_start, layout.packet.network);
    request.l3_len = length(layout.packet.network, layout.packet.transport);
    request.l4_len = length(layout.packet.transport, layout.packet.payload);
    return request;
}

Status check(const OffloadRequest& request) {
    constexpr std::uint16_t kMostL2 = (1u << RTE_MBUF_L2_LEN_BITS) - 1;
    constexpr std::uint16_t kMostL3 = (1u << RTE_MBUF_L3_LEN_BITS) - 1;
    if (request.l2_len > kMostL2) {
        return fail(ErrorCode::kBadInput,
                    "{} bytes between the outer and the inner IP header; an mbuf can say {} at "
                    "most, so use checksum modes other than 'offload'",
                    request.l2_len, kMostL2);
    }
    if (request.l3_len > kMostL3 || request.outer_l3_len > kMostL3) {
        return fail(ErrorCode::kBadInput,
                    "{} bytes of IP header; an mbuf can say {} at most, so use fewer extension "
                    "headers",
                    std::max(request.l3_len, request.outer_l3_len), kMostL3);
    }
    return {};
}

void apply_offload(rte_mbuf& frame, const OffloadRequest& request) noexcept {
    frame.ol_flags |= request.mbuf_flags;
    frame.tx_offload =
        rte_mbuf_tx_offload(request.l2_len, request.l3_len, request.l4_len, request.segment_bytes,
                            request.outer_l3_len, request.outer_l2_len, 0);
}

}  // namespace pathproof::frame
