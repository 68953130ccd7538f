// The NIC's own limit on a transmit queue: it shapes what the software hands over in bursts.
#pragma once

#include <cstdint>

#include "dataplane/base/result.h"
#include "dataplane/port/port.h"

namespace pathproof::port {

// Whether the port can; the error says why not. Asks the driver by setting no limit.
Status can_limit_rate(const Port& port);

// Limits a transmit queue to `mbps` of Ethernet frames; 0: no limit. Errors: what can_limit_rate
// says; no such queue; more than the link carries.
Status limit_rate(Port& port, std::uint16_t queue, std::uint32_t mbps);

}  // namespace pathproof::port
