// Predicts which checksum a sender writes, and where, if it looks for the transport header in the
// wrong place. Within this room only.
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/judge/frame_difference.h"

namespace pathproof::judge {

struct MisplacedWrite {
    Misplaced misplaced = Misplaced::kNone;
    std::uint32_t offset = 0;
    std::uint16_t value = 0;
};

// Every write that a hypothesis leads to. `base`: the frame before the sender's arithmetic, partial
// checksums in it.
std::vector<MisplacedWrite> misplaced_writes(std::span<const std::uint8_t> base,
                                             const frame::TunnelPorts& tunnels);

}  // namespace pathproof::judge
