// Arithmetic with what ports count.
#pragma once

#include "dataplane/port/port.h"

namespace pathproof::port {

// What was counted in between.
PortCounters difference(const PortCounters& before, const PortCounters& after);

// Counters of several ports as those of one.
PortCounters sum(const PortCounters& a, const PortCounters& b);

}  // namespace pathproof::port
