#include "dataplane/traffic/turn.h"

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_udp.h>
#include <rte_vxlan.h>

#include <cstring>

#include "dataplane/base/be.h"
#include "dataplane/frame/checksum.h"
#include "dataplane/judge/intake.h"

namespace pathproof::traffic {
namespace {

using frame::PacketView;
using frame::PartialSum;

// Hop limit of every packet written here: Linux's own default.
constexpr std::uint8_t kHops = 64;

bool is_v4(const PacketView& packet) {
    return packet.network == frame::Network::kIpv4;
}

bool is_plain_udp(const PacketView& packet) {
    return judge::is_whole_udp(packet) && packet.has_ethernet &&
           packet.network_length == plain_header_bytes(packet);
}

// Exchanges two neighbouring fields of `Size` bytes each.
template <std::size_t Size>
void exchange(std::uint8_t* first) noexcept {
    std::uint8_t one[Size];
    std::uint8_t other[Size];
    std::memcpy(one, first, Size);
    std::memcpy(other, first + Size, Size);
    std::memcpy(first, other, Size);
    std::memcpy(first + Size, one, Size);
}

void write_ipv4(std::uint8_t* header, std::size_t udp_bytes) noexcept {
    exchange<4>(header + offsetof(rte_ipv4_hdr, src_addr));
    const Be16 length(static_cast<std::uint16_t>(sizeof(rte_ipv4_hdr) + udp_bytes));
    rte_ipv4_hdr ip;
    std::memcpy(&ip, header, sizeof ip);
    ip.version_ihl = RTE_IPV4_VHL_DEF;
    ip.type_of_service = 0;
    ip.total_length = length.raw();
    ip.packet_id = 0;
    ip.fragment_offset = Be16(RTE_IPV4_HDR_DF_FLAG).raw();
    ip.time_to_live = kHops;
    ip.next_proto_id = IPPROTO_UDP;
    constexpr PartialSum kFixed = frame::sum_word(RTE_IPV4_VHL_DEF << 8) +
                                  frame::sum_word(RTE_IPV4_HDR_DF_FLAG) +
                                  frame::sum_word(kHops << 8 | IPPROTO_UDP);
    const PartialSum sum = kFixed + length.raw() + ip.src_addr + ip.dst_addr;
    ip.hdr_checksum = Be16(frame::checksum_of(sum)).raw();
    std::memcpy(header, &ip, sizeof ip);
}

void write_ipv6(std::uint8_t* header, std::size_t udp_bytes) noexcept {
    exchange<16>(header + offsetof(rte_ipv6_hdr, src_addr));
    const std::uint32_t flow = Be32(std::uint32_t{6} << 28).raw();
    const std::uint16_t length = Be16(static_cast<std::uint16_t>(udp_bytes)).raw();
    std::memcpy(header, &flow, sizeof flow);
    std::memcpy(header + offsetof(rte_ipv6_hdr, payload_len), &length, sizeof length);
    header[offsetof(rte_ipv6_hdr, proto)] = IPPROTO_UDP;
    header[offsetof(rte_ipv6_hdr, hop_limits)] = kHops;
}

void write_udp_tail(std::uint8_t* udp, std::size_t udp_bytes, std::uint16_t checksum) noexcept {
    const Be16 length(static_cast<std::uint16_t>(udp_bytes));
    const Be16 sum(checksum);
    std::memcpy(udp + offsetof(rte_udp_hdr, dgram_len), &length, sizeof length);
    std::memcpy(udp + offsetof(rte_udp_hdr, dgram_cksum), &sum, sizeof sum);
}

// The sum over an Ethernet frame whose checksums are right, from its headers alone: an IPv4 header
// sums to nothing, and a datagram to the complement of its pseudo-header (what Linux calls local
// checksum offload).
PartialSum frame_sum(const std::uint8_t* frame, const PacketView& packet,
                     std::size_t udp_bytes) noexcept {
    const std::size_t link = packet.network_offset - packet.ethernet_offset;
    PartialSum sum =
        frame::sum_bytes({frame + packet.ethernet_offset, link},
                         frame::without_word(frame::folded(pseudo_sum(packet, udp_bytes))));
    if (!is_v4(packet)) {
        sum = frame::sum_bytes({frame + packet.network_offset, sizeof(rte_ipv6_hdr)}, sum);
    }
    return sum;
}

void turn_envelope(std::uint8_t* frame, const frame::FrameView& view,
                   std::size_t inner_udp_bytes) noexcept {
    const PacketView& outer = view.outer;
    const std::size_t bytes = view.inner.transport_offset + inner_udp_bytes -
                              static_cast<std::size_t>(outer.transport_offset);
    exchange_link(frame + outer.ethernet_offset);
    write_ip(frame + outer.network_offset, outer, bytes);
    std::uint8_t* udp = frame + outer.transport_offset;
    std::uint16_t was = 0;
    std::memcpy(&was, udp + offsetof(rte_udp_hdr, dgram_cksum), sizeof was);
    write_udp_tail(udp, bytes, 0);
    if (was == 0) {
        return;
    }
    const PartialSum inner = frame_sum(frame, view.inner, inner_udp_bytes);
    const PartialSum sum = frame::sum_bytes({udp, sizeof(rte_udp_hdr) + sizeof(rte_vxlan_hdr)},
                                            inner + pseudo_sum(outer, bytes));
    write_udp_tail(udp, bytes, frame::udp_checksum_of(sum));
}

}  // namespace

std::size_t plain_header_bytes(const PacketView& packet) noexcept {
    return is_v4(packet) ? sizeof(rte_ipv4_hdr) : sizeof(rte_ipv6_hdr);
}

PartialSum pseudo_sum(const PacketView& packet, std::size_t udp_bytes) noexcept {
    return frame::pseudo_header_sum(packet.source, packet.destination, IPPROTO_UDP,
                                    static_cast<std::uint32_t>(udp_bytes));
}

void write_ip(std::uint8_t* header, const PacketView& packet, std::size_t udp_bytes) noexcept {
    is_v4(packet) ? write_ipv4(header, udp_bytes) : write_ipv6(header, udp_bytes);
}

bool is_turnable(const frame::FrameView& view) noexcept {
    if (!view.has_inner) {
        return !view.to_tunnel && is_plain_udp(view.outer);
    }
    return view.tunnel == frame::Tunnel::kVxlan && is_plain_udp(view.outer) &&
           is_plain_udp(view.inner);
}

void exchange_link(std::uint8_t* ethernet) noexcept {
    exchange<RTE_ETHER_ADDR_LEN>(ethernet);
}

void exchange_addresses(std::uint8_t* frame, const PacketView& packet) noexcept {
    std::uint8_t* header = frame + packet.network_offset;
    if (is_v4(packet)) {
        exchange<4>(header + offsetof(rte_ipv4_hdr, src_addr));
        return;
    }
    exchange<16>(header + offsetof(rte_ipv6_hdr, src_addr));
}

void exchange_ports(std::uint8_t* frame, const PacketView& packet) noexcept {
    exchange<2>(frame + packet.transport_offset);
}

void turn_headers(std::uint8_t* frame, const frame::FrameView& view, std::size_t payload_bytes,
                  std::uint16_t udp_checksum) noexcept {
    const PacketView& packet = view.innermost();
    const std::size_t udp_bytes = sizeof(rte_udp_hdr) + payload_bytes;
    exchange_link(frame + packet.ethernet_offset);
    write_ip(frame + packet.network_offset, packet, udp_bytes);
    exchange_ports(frame, packet);
    write_udp_tail(frame + packet.transport_offset, udp_bytes, udp_checksum);
    if (view.has_inner) {
        turn_envelope(frame, view, udp_bytes);
    }
}

}  // namespace pathproof::traffic
