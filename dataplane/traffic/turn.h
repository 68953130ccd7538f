// A received frame turned round where it lies: the ends of its headers exchanged, lengths and
// checksums put right. What a server at the far side would send back, without a copy.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dataplane/frame/checksum.h"
#include "dataplane/frame/view.h"

namespace pathproof::traffic {

// True if the frame's headers are those that a reply written anew would have too, but for their
// values: UDP datagrams in IPv4 without options or IPv6 without extension headers, plain or in
// VXLAN.
bool is_turnable(const frame::FrameView& view) noexcept;

// Returns the length of an IP header of `packet`'s family without options or extensions.
std::size_t plain_header_bytes(const frame::PacketView& packet) noexcept;
// The sum of the pseudo-header of a datagram of that packet, or of the answer to it.
frame::PartialSum pseudo_sum(const frame::PacketView& packet, std::size_t udp_bytes) noexcept;
// Makes a plain header of a UDP datagram of that IP header, whose addresses it exchanges. The
// packet says the version.
void write_ip(std::uint8_t* header, const frame::PacketView& packet,
              std::size_t udp_bytes) noexcept;

// Exchanges the Ethernet addresses at `ethernet`.
void exchange_link(std::uint8_t* ethernet) noexcept;
// Exchanges the IP addresses of a packet that stays as it is: its header checksum stays right.
void exchange_addresses(std::uint8_t* frame, const frame::PacketView& packet) noexcept;
// Exchanges the ports of UDP or TCP: likewise.
void exchange_ports(std::uint8_t* frame, const frame::PacketView& packet) noexcept;

// Writes the headers of the reply in place of those of the innermost datagram, whose UDP data now
// has `payload_bytes` and whose checksum shall be `udp_checksum` (host order), and those of its
// envelope: the same bytes as write_reply() gives. The frame must be turnable.
void turn_headers(std::uint8_t* frame, const frame::FrameView& view, std::size_t payload_bytes,
                  std::uint16_t udp_checksum) noexcept;

}  // namespace pathproof::traffic
