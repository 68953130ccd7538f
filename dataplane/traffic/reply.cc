#include "dataplane/traffic/reply.h"

#include <rte_ether.h>
#include <rte_udp.h>
#include <rte_vxlan.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "dataplane/judge/intake.h"
#include "dataplane/traffic/envelope.h"

namespace pathproof::traffic {
namespace {

using frame::Bytes;
using frame::FrameView;
using frame::PacketView;

// The envelope of `packet` with link and IP ends exchanged; the ports are the caller's business.
Envelope turned(Bytes query, const PacketView& packet) {
    Envelope envelope;
    envelope.link_bytes = std::min<std::size_t>(packet.network_offset - packet.ethernet_offset,
                                                Envelope::kMostLinkBytes);
    const std::uint8_t* in = query.data() + packet.ethernet_offset;
    std::uint8_t* out = envelope.link.data();
    std::memcpy(out, in, envelope.link_bytes);
    std::memcpy(out, in + RTE_ETHER_ADDR_LEN, RTE_ETHER_ADDR_LEN);
    std::memcpy(out + RTE_ETHER_ADDR_LEN, in, RTE_ETHER_ADDR_LEN);
    envelope.source = {packet.destination, packet.destination_port};
    envelope.destination = {packet.source, packet.source_port};
    return envelope;
}

Envelope turned_tunnel(Bytes query, const PacketView& outer) {
    Envelope envelope = turned(query, outer);
    envelope.source.port = outer.source_port;
    envelope.destination.port = outer.destination_port;
    const auto udp = frame::view<rte_udp_hdr>(query, outer.transport_offset);
    const bool filled = udp && udp->dgram_cksum != 0;
    envelope.checksum = filled ? UdpChecksum::kFilled : UdpChecksum::kDisabled;
    return envelope;
}

}  // namespace

std::size_t write_reply(std::span<std::uint8_t> out, Bytes query, const FrameView& view,
                        Bytes payload) noexcept {
    const PacketView& packet = view.innermost();
    if (!judge::is_whole_udp(packet) || (view.has_inner && !judge::is_whole_udp(view.outer))) {
        return 0;
    }
    const Envelope inner = turned(query, packet);
    const Envelope outer = view.has_inner ? turned_tunnel(query, view.outer) : Envelope();
    const std::size_t tunnel = view.has_inner ? outer.bytes() + sizeof(rte_vxlan_hdr) : 0;
    const std::size_t total = tunnel + inner.bytes() + payload.size();
    if (total > out.size() || total > std::numeric_limits<std::uint16_t>::max()) {
        return 0;
    }
    const auto frame = out.first(total);
    std::ranges::copy(payload, frame.last(payload.size()).begin());
    write_headers(frame.subspan(tunnel), inner);
    if (view.has_inner) {
        std::ranges::copy(query.subspan(view.tunnel_offset, sizeof(rte_vxlan_hdr)),
                          frame.subspan(outer.bytes()).begin());
        write_headers(frame, outer);
    }
    return total;
}

}  // namespace pathproof::traffic
