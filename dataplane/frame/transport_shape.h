// Properties of each transport protocol that the code which writes frames needs; one table for all
// of it.
#pragma once

#include <cstdint>
#include <optional>

#include "dataplane/frame/frame_spec.h"

namespace pathproof::frame {

enum class PseudoHeader : std::uint8_t { kNone, kSummed };

struct TransportShape {
    std::uint8_t protocol = 0;
    std::uint16_t header_bytes = 0;
    std::optional<std::uint16_t> checksum_offset;  // of a 16-bit Internet checksum
    PseudoHeader pseudo_header = PseudoHeader::kNone;
};

// Returns the shape of the transport that `packet` is written with; `protocol` is the number in the
// IP header.
TransportShape shape_of(const PacketSpec& packet) noexcept;

// Offset of SCTP's CRC32c (RFC 9260 section 3.1), which is no Internet checksum.
inline constexpr std::uint16_t kSctpChecksumOffset = 8;

// The protocol number in the outer IP header of a tunnel.
std::uint8_t protocol_of(const TunnelSpec& tunnel, const PacketSpec& inner) noexcept;

// UDP-borne: VXLAN, VXLAN-GPE, GENEVE.
bool over_udp(Tunnel kind) noexcept;

// The tunnel's own header, without outer UDP and inner Ethernet.
std::uint16_t tunnel_header_bytes(const TunnelSpec& tunnel) noexcept;

inline bool is_ipv4(const PacketSpec& packet) noexcept {
    return packet.source.address.family == Family::kIpv4;
}
inline bool is_echo(const PacketSpec& packet) noexcept {
    return packet.transport == Transport::kIcmp || packet.transport == Transport::kIcmpv6;
}

// Bytes from the IP header's start to the transport: with IPv4 options, IPv6 extension and fragment
// headers.
std::uint16_t network_bytes(const PacketSpec& packet) noexcept;

}  // namespace pathproof::frame
