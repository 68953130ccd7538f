// Reads a frame into layers: where each header lies, how long it is, who speaks to whom and on
// which ports. Nothing is copied but addresses, nothing is allocated, and no byte beyond the frame
// is read. Which UDP ports carry tunnels is the caller's knowledge (tunnel_ports.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "dataplane/frame/address.h"
#include "dataplane/frame/tunnel_ports.h"

namespace pathproof::frame {

using Bytes = std::span<const std::uint8_t>;
using ByteVector = std::vector<std::uint8_t>;

// The header T at `offset`, or nothing if it does not fit. By value: headers in a frame are not
// aligned (the inner Ethernet header of a tunnel, an IPv4 header behind Ethernet), and the copy
// compiles to plain loads.
template <typename T>
requires std::is_trivially_copyable_v<T> std::optional<T> view(Bytes bytes, std::size_t offset)
noexcept {
    if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) {
        return std::nullopt;
    }
    T header;
    std::memcpy(&header, bytes.data() + offset, sizeof header);
    return header;
}

enum class Network : std::uint8_t {
    kNone,
    kIpv4,
    kIpv6
};  // kNone: ARP, LLDP, a third VLAN tag, ...
enum class Transport : std::uint8_t {
    kNone,  // no IP, or a later fragment, or the frame ends before it
    kUdp,
    kTcp,
    kIcmp,
    kIcmpv6,
    kOther,  // ESP, OSPF, GRE of a version other than 0, more extension headers than are followed
    kSctp,
    kUdpLite,
    kGre,  // of version 0 (RFC 2784), with or without key and sequence number (RFC 2890)
};
enum class Fragment : std::uint8_t { kWhole, kFirst, kLater };

// Reason why a frame could not be read to its end; the fields read before that are valid all the
// same.
enum class Malformed : std::uint8_t {
    kNone,
    kShortEthernet,
    kShortIp,         // header or length field beyond the frame
    kShortTransport,  // transport header, length or coverage beyond the IP payload
    kShortTunnel,     // tunnel header cut short, of an unknown version or, in VXLAN, without I flag
};

// One Ethernet frame: the whole one, or the one inside a tunnel, which may be an IP packet without
// Ethernet header. Offsets count from the start of the outermost frame.
struct PacketView {
    std::uint32_t ethernet_offset = 0;  // without Ethernet header: where the IP packet starts
    std::uint32_t network_offset = 0;
    std::uint32_t network_length = 0;  // header with IPv4 options or IPv6 extension headers
    // End of the IP packet by its own length, or of the frame if earlier.
    std::uint32_t network_end = 0;
    std::uint32_t transport_offset = 0;
    // Header and data: UDP by its length field, others up to network_end.
    std::uint32_t transport_length = 0;
    std::uint32_t covered_length = 0;  // what the checksum is over: less than transport_length
                                       // under UDP-Lite with partial coverage only (RFC 3828)
    std::uint32_t payload_offset = 0;  // behind the transport header
    std::uint32_t payload_length = 0;
    std::uint32_t trailer_length = 0;  // bytes of the frame behind the IP packet: Ethernet padding
    std::uint16_t ethertype = 0;       // behind the VLAN tags
    std::array<std::uint16_t, 2> vlan{};  // tag control information, outermost first
    std::uint8_t vlans = 0;
    Network network = Network::kNone;
    Transport transport = Transport::kNone;
    Fragment fragment = Fragment::kWhole;
    std::uint8_t protocol = 0;  // IPv4 protocol or the last IPv6 next header
    Malformed malformed = Malformed::kNone;
    // False behind an IPv6 routing header of an unknown type: then the pseudo-header's destination
    // is not known.
    bool final_destination_known = false;
    std::uint16_t source_port = 0;  // not of GRE; ICMP echo: the identifier in both
    std::uint16_t destination_port = 0;
    IpAddress source;
    IpAddress destination;
    // RFC 8200 section 8.1: with hops left in a routing header, the pseudo-header has the last of
    // them.
    IpAddress final_destination;
    bool has_ethernet = true;  // false: GRE, IP in IP or GENEVE and VXLAN-GPE around bare IP

    Bytes payload(Bytes frame) const { return frame.subspan(payload_offset, payload_length); }
    Endpoint source_endpoint() const { return {source, source_port}; }
    Endpoint destination_endpoint() const { return {destination, destination_port}; }
};

struct FrameView {
    PacketView outer;                 // or the only one
    PacketView inner;                 // meaningful if has_inner
    Tunnel tunnel = Tunnel::kNone;    // by port or protocol number; its header may be broken
    std::uint32_t tunnel_offset = 0;  // of the VXLAN, GENEVE or GRE header; IP in IP: of the inner
                                      // IP header
    std::uint32_t tunnel_length = 0;  // of that header with its options; IP in IP: 0
    std::uint32_t vni = 0;            // GRE: the key, or 0 without one
    bool to_tunnel = false;           // `tunnel` is not kNone
    bool has_inner = false;           // and its header could be read, up to a known payload
    Malformed malformed = Malformed::kNone;  // the first reason, outermost first

    const PacketView& innermost() const { return has_inner ? inner : outer; }
};

// Tunnels are followed one level deep, and not out of fragments.
FrameView parse_frame(Bytes frame, const TunnelPorts& tunnels) noexcept;
// Reads UDP to a port in `vxlan_ports` (host order) as VXLAN (RFC 7348), and no other tunnel.
FrameView parse_frame(Bytes frame, std::span<const std::uint16_t> vxlan_ports) noexcept;
// The outer packet, with no tunnel in it.
inline PacketView parse_packet(Bytes frame) noexcept {
    return parse_frame(frame, std::span<const std::uint16_t>()).outer;
}
// An EtherType of a VLAN tag: IEEE 802.1Q, 802.1ad, and what was there before that.
constexpr bool is_vlan(std::uint16_t type) noexcept {
    return type == 0x8100 || type == 0x88a8 || type == 0x9100;
}
// Judges by the EtherType alone, in a few cycles: false for ARP, LLDP, LACP and the like, of which
// a view would have an Ethernet header and nothing else.
inline bool may_carry_ip(Bytes frame) noexcept {
    constexpr std::size_t kType = 12;
    constexpr std::size_t kEthernet = 14;
    if (frame.size() < kEthernet) {
        return true;
    }
    const auto type = static_cast<std::uint16_t>(frame[kType] << 8 | frame[kType + 1]);
    return type == 0x0800 || type == 0x86dd || is_vlan(type);
}

}  // namespace pathproof::frame
