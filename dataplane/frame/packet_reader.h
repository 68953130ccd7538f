// Reads the layers of one packet; view.h puts packets and tunnels together to a frame.
#pragma once

#include "dataplane/frame/view.h"

namespace pathproof::frame {

// GRE's flags (RFC 2784 section 2.1, RFC 2890 section 2). What RFC 1701 had and they have not, and
// every version but 0, is not read.
inline constexpr std::uint16_t kGreChecksum = 0x8000;
inline constexpr std::uint16_t kGreKey = 0x2000;
inline constexpr std::uint16_t kGreSequence = 0x1000;
inline constexpr std::uint16_t kGreUnknown = 0x4fff;

constexpr std::uint32_t gre_length(std::uint16_t flags) noexcept {
    return 4u + ((flags & kGreChecksum) != 0 ? 4u : 0u) + ((flags & kGreKey) != 0 ? 4u : 0u) +
           ((flags & kGreSequence) != 0 ? 4u : 0u);
}

// Reads the Ethernet frame that starts at `offset`; `frame` ends where the packet's carrier ends.
void read_packet(Bytes frame, std::uint32_t offset, PacketView& packet) noexcept;
// Reads an IP packet without Ethernet header, of the family that `ethertype` gives.
void read_ip_packet(Bytes frame, std::uint32_t offset, std::uint16_t ethertype,
                    PacketView& packet) noexcept;

}  // namespace pathproof::frame
