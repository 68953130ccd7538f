// A host's view where its receive path merges segments (GRO, LRO): look-alike B9.
#pragma once

#include <optional>
#include <span>

#include "dataplane/calibration/material.h"

namespace pathproof::calibration {

// One packet out of TCP segments that came in order, in no tunnel: lengths and flags of the whole,
// and in the field of the checksum, as the kernel's tcp_gro_complete() leaves it, the
// pseudo-header's sum. Nothing for other frames and for what does not fit into one IP packet.
std::optional<FrameBytes> merged(std::span<const FrameBytes> segments,
                                 const frame::TunnelPorts& tunnels);

}  // namespace pathproof::calibration
