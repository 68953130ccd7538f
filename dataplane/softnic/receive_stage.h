// The healthy receiving side: checks what it can check, and says nothing of the rest.
#pragma once

#include "dataplane/softnic/engine.h"
#include "dataplane/softnic/places.h"

namespace pathproof::softnic {

// IPv4 headers, UDP, TCP and SCTP, of the inner packet and of the tunnel around it. kUnknown:
// IPv6 headers, UDP without a checksum, fragments, ICMP, other protocols, a packet cut short.
RxVerdict check(Bytes wire, const Places& places) noexcept;

// Writes into `result` what the host gets: bytes and the verdict.
void deliver(Bytes wire, const RxVerdict& verdict, RxResult& result);

// Counts a delivered frame by its verdict.
void count(const RxVerdict& verdict, NicCounters& counters) noexcept;

}  // namespace pathproof::softnic
