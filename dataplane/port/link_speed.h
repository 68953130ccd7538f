// The link below a port: waiting for it, and what it says of itself.
#pragma once

#include <chrono>
#include <cstdint>

#include "dataplane/port/port.h"

namespace pathproof::port {

// Returns when the link of device `id` is up or the time is over, and says whether it is up. A NIC
// needs seconds after its start to agree on a speed with its peer.
bool wait_for_link(std::uint16_t id, std::chrono::milliseconds patience);

// As device `id` says it; 0: its link is not up, or it does not say.
std::uint32_t link_mbps(std::uint16_t id);

// True if the driver says, or the kernel's list of the PCI bus shows, that the device went away.
bool is_removed(std::uint16_t id, const std::string& device);

}  // namespace pathproof::port
