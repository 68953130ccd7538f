// Finds CPUs that are far from a port's memory and bus.
#pragma once

#include <span>
#include <string>

#include "dataplane/port/cpus.h"
#include "dataplane/port/port.h"

namespace pathproof::port {

// A sentence for an objection when some of `cpus` lie on another node than the port's device, which
// costs each frame a way over the interconnect; empty when none does or the device's node is not
// known, as with virtual devices.
std::string far_cpus(const PortInfo& port, std::span<const PlacedCpu> cpus);

}  // namespace pathproof::port
