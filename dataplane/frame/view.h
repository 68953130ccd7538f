// Reads a frame into layers: where each header lies, how long it is, who speaks to whom and on
// which ports. Nothing is copied but addresses, nothing is allocated, and no byte beyond the frame
// is read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

#include "dataplane/frame/address.h"

namespace pathproof::frame {

using Bytes = std::span<const std::uint8_t>;

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
    kOther,  // SCTP, GRE, ESP, more extension headers than are followed, ...
};
enum class Fragment : std::uint8_t { kWhole, kFirst, kLater };

// Why a frame could not be read to its end; what was read before that is valid all the same.
enum class Malformed : std::uint8_t {
    kNone,
    kShortEthernet,
    kShortIp,         // header or length field beyond the frame
    kShortTransport,  // UDP, TCP or ICMP header or length beyond the IP payload
    kShortTunnel,     // VXLAN header cut short or its I flag not set
};

// One Ethernet frame: the whole one, or the one inside a tunnel. Offsets count from the start of
// the outermost frame.
struct PacketView {
    std::uint32_t ethernet_offset = 0;
    std::uint32_t network_offset = 0;
    std::uint32_t network_length = 0;  // header with IPv4 options or IPv6 extension headers
    std::uint32_t network_end =
        0;  // where the IP packet ends by its own length, or the frame if earlier
    std::uint32_t transport_offset = 0;
    std::uint32_t transport_length =
        0;  // header and data: UDP by its length field, others up to network_end
    std::uint32_t payload_offset = 0;  // behind the UDP, TCP or ICMP header
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
    // What the pseudo-header holds is known. False behind an IPv6 routing header of an unknown
    // type.
    bool final_destination_known = false;
    std::uint16_t source_port = 0;  // UDP and TCP; ICMP echo: the identifier in both
    std::uint16_t destination_port = 0;
    IpAddress source;
    IpAddress destination;
    // RFC 8200 section 8.1: with hops left in a routing header, the pseudo-header has the last of
    // them.
    IpAddress final_destination;

    Bytes payload(Bytes frame) const { return frame.subspan(payload_offset, payload_length); }
    Endpoint source_endpoint() const { return {source, source_port}; }
    Endpoint destination_endpoint() const { return {destination, destination_port}; }
};

struct FrameView {
    PacketView outer;                 // or the only one
    PacketView inner;                 // meaningful if has_inner
    std::uint32_t tunnel_offset = 0;  // of the VXLAN header
    std::uint32_t vni = 0;
    bool to_tunnel = false;                  // UDP to one of the tunnel ports
    bool has_inner = false;                  // and a VXLAN header with its I flag set
    Malformed malformed = Malformed::kNone;  // the first reason, outermost first

    const PacketView& innermost() const { return has_inner ? inner : outer; }
};

// UDP to a port in `tunnel_ports` (host order) is read as VXLAN (RFC 7348), one level deep.
FrameView parse_frame(Bytes frame, std::span<const std::uint16_t> tunnel_ports) noexcept;

}  // namespace pathproof::frame
