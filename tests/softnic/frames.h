// Frames built byte by byte for the wire's tests, with the checksum field in the state the test
// wants. The sum here is the test's own.
#pragma once

#include "tests/frame/raw.h"

namespace pathproof::softnic {

using Frame = raw::Octets;

enum class Field {
    kRight,
    kPartial,  // the pseudo-header's sum, not inverted
    kWrong,    // neither
};

using raw::ethernet;
using raw::ipv6;  // 2001:db8::1 > 2001:db8::2

// 198.18.0.1 > 198.18.0.2, with `header_words` 32-bit words of header (more than 5: options).
Frame ipv4(std::uint8_t protocol, const Frame& payload, unsigned header_words = 5);
Frame bytes(std::size_t count);  // a payload of non-zero bytes

// Transport over IPv4 (family 4) or IPv6 (6) between the addresses above.
Frame udp(int family, std::uint16_t source, std::uint16_t destination, const Frame& payload,
          Field field);
Frame tcp(int family, std::uint16_t source, std::uint16_t destination, const Frame& payload,
          Field field);
Frame icmp_echo(const Frame& payload);
Frame vxlan(const Frame& inner);

// Writes the right checksum into a UDP segment over IPv4 whatever it carries: as local checksum
// offload does, given the segment as it will leave.
void finish_udp(Frame& segment);

}  // namespace pathproof::softnic
