// Turns a received UDP datagram's frame round: the same Ethernet, VLAN, VXLAN and IP envelope with
// the ends exchanged, around another payload.
#pragma once

#include <cstdint>
#include <span>

#include "dataplane/frame/view.h"

namespace pathproof::traffic {

// Writes the reply to `query`, whose innermost packet must be a whole UDP datagram; all checksums
// are right, but an outer UDP checksum of 0 stays 0. A tunnel's reply goes to the tunnel port from
// the port that the query came from, as a VTEP hashes flows to ports (RFC 7348 section 5) and does
// not answer from 4789. IPv4 options and IPv6 extension headers are not repeated. Returns the
// length, or 0 if it does not fit `out` or an IP packet.
std::size_t write_reply(std::span<std::uint8_t> out, frame::Bytes query,
                        const frame::FrameView& view, frame::Bytes payload) noexcept;

}  // namespace pathproof::traffic
