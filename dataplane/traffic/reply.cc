#include "dataplane/traffic/reply.h"

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_udp.h>
#include <rte_vxlan.h>

#include <algorithm>
#include <array>
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

enum class UdpChecksum : std::uint8_t { kFilled, kDisabled };

// The headers around a UDP payload: Ethernet with its tags, IPv4 or IPv6, UDP; all checksums right.
struct Envelope {
    static constexpr std::size_t kMostLinkBytes = 14 + 2 * 4;

    std::array<std::uint8_t, kMostLinkBytes> link{};  // Ethernet header, VLAN tags included
    std::size_t link_bytes = 0;
    frame::Endpoint source;
    frame::Endpoint destination;  // of the same family
    UdpChecksum checksum = UdpChecksum::kFilled;
};

bool is_v4(const Envelope& envelope) {
    return envelope.source.address.family == frame::Family::kIpv4;
}

std::size_t ip_bytes(const Envelope& envelope) {
    return is_v4(envelope) ? sizeof(rte_ipv4_hdr) : sizeof(rte_ipv6_hdr);
}

void write_ipv4(std::uint8_t* out, const Envelope& envelope, std::size_t udp_bytes) {
    rte_ipv4_hdr ip{};
    ip.version_ihl = RTE_IPV4_VHL_DEF;
    ip.total_length = Be16(static_cast<std::uint16_t>(sizeof ip + udp_bytes)).raw();
    ip.fragment_offset = Be16(RTE_IPV4_HDR_DF_FLAG).raw();
    ip.time_to_live = kHops;
    ip.next_proto_id = IPPROTO_UDP;
    std::memcpy(&ip.src_addr, envelope.source.address.bytes.data(), sizeof ip.src_addr);
    std::memcpy(&ip.dst_addr, envelope.destination.address.bytes.data(), sizeof ip.dst_addr);
    std::memcpy(out, &ip, sizeof ip);
    const std::uint16_t sum = frame::checksum_of(frame::sum_bytes({out, sizeof ip}));
    const std::uint16_t field = Be16(sum).raw();
    std::memcpy(out + offsetof(rte_ipv4_hdr, hdr_checksum), &field, sizeof field);
}

void write_ipv6(std::uint8_t* out, const Envelope& envelope, std::size_t udp_bytes) {
    rte_ipv6_hdr ip{};
    ip.vtc_flow = Be32(std::uint32_t{6} << 28).raw();
    ip.payload_len = Be16(static_cast<std::uint16_t>(udp_bytes)).raw();
    ip.proto = IPPROTO_UDP;
    ip.hop_limits = kHops;
    std::memcpy(&ip.src_addr, envelope.source.address.bytes.data(), sizeof ip.src_addr);
    std::memcpy(&ip.dst_addr, envelope.destination.address.bytes.data(), sizeof ip.dst_addr);
    std::memcpy(out, &ip, sizeof ip);
}

// `udp`: header with a checksum of 0, and payload.
std::uint16_t checksum_of(frame::Bytes udp, const Envelope& envelope) {
    const auto length = static_cast<std::uint32_t>(udp.size());
    return frame::udp_checksum_of(frame::sum_bytes(
        udp, frame::pseudo_header_sum(envelope.source.address, envelope.destination.address,
                                      IPPROTO_UDP, length)));
}

std::size_t bytes_of(const Envelope& envelope) {
    return envelope.link_bytes + ip_bytes(envelope) + sizeof(rte_udp_hdr);
}

// Writes the headers to `frame`, whose payload stands in its place behind them: bytes_of(envelope)
// further on, to the end. The frame must not be longer than an IP packet can be.
void write_headers(std::span<std::uint8_t> frame, const Envelope& envelope) {
    std::memcpy(frame.data(), envelope.link.data(), envelope.link_bytes);
    const auto ip = frame.subspan(envelope.link_bytes);
    const auto udp = ip.subspan(ip_bytes(envelope));
    if (is_v4(envelope)) {
        write_ipv4(ip.data(), envelope, udp.size());
    } else {
        write_ipv6(ip.data(), envelope, udp.size());
    }
    rte_udp_hdr header{.src_port = Be16(envelope.source.port).raw(),
                       .dst_port = Be16(envelope.destination.port).raw(),
                       .dgram_len = Be16(static_cast<std::uint16_t>(udp.size())).raw(),
                       .dgram_cksum = 0};
    std::memcpy(udp.data(), &header, sizeof header);
    if (envelope.checksum == UdpChecksum::kFilled) {
        header.dgram_cksum = Be16(checksum_of(udp, envelope)).raw();
        std::memcpy(udp.data(), &header, sizeof header);
    }
}

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
    const std::size_t tunnel = view.has_inner ? bytes_of(outer) + sizeof(rte_vxlan_hdr) : 0;
    const std::size_t total = tunnel + bytes_of(inner) + payload.size();
    if (total > out.size() || total > std::numeric_limits<std::uint16_t>::max()) {
        return 0;
    }
    const auto frame = out.first(total);
    std::ranges::copy(payload, frame.last(payload.size()).begin());
    write_headers(frame.subspan(tunnel), inner);
    if (view.has_inner) {
        std::ranges::copy(query.subspan(view.tunnel_offset, sizeof(rte_vxlan_hdr)),
                          frame.subspan(bytes_of(outer)).begin());
        write_headers(frame, outer);
    }
    return total;
}

}  // namespace pathproof::traffic
