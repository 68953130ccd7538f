// The NIC's own limit on a transmit queue: it shapes what the software hands over in bursts.
#pragma once

#include <cstdint>

#include "dataplane/base/result.h"
#include "dataplane/port/port.h"

namespace pathproof::port {

// Limits a transmit queue to `mbps` of Ethernet frames; 0: no limit. Errors: the driver cannot; no
// such queue; more than the link carries.
Status limit_rate(Port& port, std::uint16_t queue, std::uint32_t mbps);

}  // namespace pathproof::port
