#include "dataplane/frame/offload.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>

namespace pathproof::frame {
namespace {

bool is_ipv4(const PacketSpec& packet) {
    return packet.source.address.family == Family::kIpv4;
}
bool ip_offloaded(const PacketSpec& packet) {
    return is_ipv4(packet) && packet.ip_checksum == ChecksumMode::kOffload;
}
bool transport_offloaded(const PacketSpec& packet) {
    return packet.transport_checksum == ChecksumMode::kOffload;
}

std::uint16_t length(std::uint16_t from, std::uint16_t to) {
    return static_cast<std::uint16_t>(to - from);
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
    const bool udp = packet.transport == Transport::kUdp;
    request.mbuf_flags |= udp ? RTE_MBUF_F_TX_UDP_CKSUM : RTE_MBUF_F_TX_TCP_CKSUM;
    request.port_offloads |= udp ? RTE_ETH_TX_OFFLOAD_UDP_CKSUM : RTE_ETH_TX_OFFLOAD_TCP_CKSUM;
}

// The outer family and the tunnel's type are told even if only inner fields are asked for: a NIC
// finds the inner headers by them.
void ask_for_tunnel(OffloadRequest& request, const PacketSpec& outer) {
    request.mbuf_flags |= RTE_MBUF_F_TX_TUNNEL_VXLAN;
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
        ask_for_tunnel(request, spec.tunnel->outer);
        request.outer_l2_len = layout.outer.network;
        request.outer_l3_len = length(layout.outer.network, layout.outer.transport);
        l2_start = layout.outer.transport;
    }
    ask_for_packet(request, spec.packet);
    request.l2_len = length(l2_start, layout.packet.network);
    request.l3_len = length(layout.packet.network, layout.packet.transport);
    request.l4_len = length(layout.packet.transport, layout.packet.payload);
    return request;
}

void apply_offload(rte_mbuf& frame, const OffloadRequest& request) noexcept {
    frame.ol_flags |= request.mbuf_flags;
    frame.tx_offload = rte_mbuf_tx_offload(request.l2_len, request.l3_len, request.l4_len, 0,
                                           request.outer_l3_len, request.outer_l2_len, 0);
}

}  // namespace pathproof::frame
