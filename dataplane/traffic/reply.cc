#include "dataplane/traffic/reply.h"

#include <rte_udp.h>
#include <rte_vxlan.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>

#include "dataplane/base/be.h"
#include "dataplane/frame/checksum.h"
#include "dataplane/judge/intake.h"
#include "dataplane/traffic/turn.h"

namespace pathproof::traffic {
namespace {

using frame::Bytes;
using frame::FrameView;
using frame::PacketView;
using frame::PartialSum;

enum class UdpChecksum : std::uint8_t { kFilled, kDisabled };

// Returns the length of the Ethernet header, VLAN tags included.
std::size_t link_bytes(const PacketView& packet) noexcept {
    constexpr std::size_t kMost = 14 + 2 * 4;
    return std::min<std::size_t>(packet.network_offset - packet.ethernet_offset, kMost);
}

// Returns the length of the Ethernet header, the IP header and the UDP header together.
std::size_t headers_bytes(const PacketView& packet) noexcept {
    return link_bytes(packet) + plain_header_bytes(packet) + sizeof(rte_udp_hdr);
}

// Writes the headers of `packet` of `query` to `frame`, link and IP ends exchanged, all checksums
// right. The payload stands in its place behind them: headers_bytes(packet) further on, to the end.
// The frame must not be longer than an IP packet can be.
void write_headers(std::span<std::uint8_t> frame, Bytes query, const PacketView& packet,
                   std::uint16_t source_port, std::uint16_t destination_port,
                   UdpChecksum checksum) noexcept {
    const std::size_t link = link_bytes(packet);
    std::ranges::copy(query.subspan(packet.ethernet_offset, link), frame.begin());
    exchange_link(frame.data());
    const auto ip = frame.subspan(link);
    const auto udp = ip.subspan(plain_header_bytes(packet));
    std::ranges::copy(query.subspan(packet.network_offset, plain_header_bytes(packet)), ip.begin());
    write_ip(ip.data(), packet, udp.size());
    rte_udp_hdr header{.src_port = Be16(source_port).raw(),
                       .dst_port = Be16(destination_port).raw(),
                       .dgram_len = Be16(static_cast<std::uint16_t>(udp.size())).raw(),
                       .dgram_cksum = 0};
    std::memcpy(udp.data(), &header, sizeof header);
    if (checksum == UdpChecksum::kFilled) {
        const PartialSum sum = frame::sum_bytes(udp, pseudo_sum(packet, udp.size()));
        header.dgram_cksum = Be16(frame::udp_checksum_of(sum)).raw();
        std::memcpy(udp.data(), &header, sizeof header);
    }
}

}  // namespace

std::size_t write_reply(std::span<std::uint8_t> out, Bytes query, const FrameView& view,
                        Bytes payload) noexcept {
    const PacketView& packet = view.innermost();
    if (!judge::is_whole_udp(packet) || (view.has_inner && !judge::is_whole_udp(view.outer))) {
        return 0;
    }
    const PacketView& outer = view.outer;
    const std::size_t tunnel = view.has_inner ? headers_bytes(outer) + sizeof(rte_vxlan_hdr) : 0;
    const std::size_t total = tunnel + headers_bytes(packet) + payload.size();
    if (total > out.size() || total > std::numeric_limits<std::uint16_t>::max()) {
        return 0;
    }
    const auto frame = out.first(total);
    std::ranges::copy(payload, frame.last(payload.size()).begin());
    write_headers(frame.subspan(tunnel), query, packet, packet.destination_port, packet.source_port,
                  UdpChecksum::kFilled);
    if (view.has_inner) {
        std::ranges::copy(query.subspan(view.tunnel_offset, sizeof(rte_vxlan_hdr)),
                          frame.subspan(headers_bytes(outer)).begin());
        const auto udp = frame::view<rte_udp_hdr>(query, outer.transport_offset);
        const bool filled = udp && udp->dgram_cksum != 0;
        write_headers(frame, query, outer, outer.source_port, outer.destination_port,
                      filled ? UdpChecksum::kFilled : UdpChecksum::kDisabled);
    }
    return total;
}

}  // namespace pathproof::traffic
