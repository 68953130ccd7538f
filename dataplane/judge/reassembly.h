// Puts fragments together, so that a transport checksum that no fragment shows alone is judged.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/judge/verifier.h"

namespace pathproof::judge {

struct Reassembled {
    std::vector<std::uint8_t> frame;       // Ethernet, IP header and the whole datagram
    std::uint32_t first_fragment_end = 0;  // where the first fragment's data ended, in `frame`
};

// The fragments of one datagram in any order, each a whole frame; in tunnels the innermost packets
// are put together. IPv4: the first fragment's header with its length, flags and checksum made
// those of the whole (RFC 791 section 3.2); IPv6: the fragment header taken out (RFC 8200
// section 4.5). Errors: a frame that is no fragment or is of another datagram, a hole, an overlap,
// more than 65535 bytes.
Result<Reassembled> reassemble(std::span<const std::span<const std::uint8_t>> fragments,
                               const frame::TunnelPorts& tunnels);

}  // namespace pathproof::judge
