// The link below a port: waiting for it, and what fits it.
#pragma once

#include <chrono>
#include <cstdint>

#include "dataplane/port/port.h"

namespace pathproof::port {

// Ethernet's own bytes around a frame without FCS: FCS 4, preamble and start delimiter 8, least gap
// 12 (IEEE 802.3). A frame shorter than 60 bytes is padded to that.
inline constexpr std::uint32_t kFcsBytes = 4;
inline constexpr std::uint32_t kWireOverheadBytes = 20;
inline constexpr std::uint32_t kShortestFrame = 60;

// Frames of `frame_bytes` (without FCS) that a link of `mbps` carries in a second.
double line_rate_pps(std::uint32_t mbps, std::uint32_t frame_bytes) noexcept;

// The same for a port; 0 where the link's speed is not known: a virtual driver's is a constant in
// its source.
double line_rate_pps(const PortInfo& port, std::uint32_t frame_bytes) noexcept;

// Returns when the link of device `id` is up or the time is over, and says whether it is up. A NIC
// needs seconds after its start to agree on a speed with its peer.
bool wait_for_link(std::uint16_t id, std::chrono::milliseconds patience);

// Fills in speed, duplex and how the speed was chosen, as device `id` says them.
void describe_link(std::uint16_t id, PortInfo& info);

// True if the driver says, or the kernel's list of the PCI bus shows, that the device went away.
bool is_removed(std::uint16_t id, const std::string& device);

}  // namespace pathproof::port
