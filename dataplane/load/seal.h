// Fills all checksum fields of a frame by summing its bytes, whatever their modes are: the way for
// modes that the quick arithmetic of prepared_frame.h does not know, and what that starts from.
#pragma once

#include <cstdint>

#include "dataplane/frame/checksum.h"
#include "dataplane/frame/frame_spec.h"

namespace pathproof::load {

// Source address and source ports are taken from the bytes, all else from the specification.
// UDP, TCP and ICMP echo only.
void seal(std::uint8_t* bytes, const frame::FrameSpec& spec,
          const frame::FrameLayout& layout) noexcept;

// The pseudo-header's sum of a packet that lies in `bytes`; 0 for ICMP over IPv4, which has none.
frame::PartialSum pseudo_sum(const std::uint8_t* bytes, const frame::PacketSpec& packet,
                             const frame::PacketLayout& layout) noexcept;

}  // namespace pathproof::load
