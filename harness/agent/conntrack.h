// Orders to conntrack: entries to keep, and entries to make.
#pragma once

#include <cstdint>
#include <optional>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"
#include "harness/message/fields.h"
#include "harness/netfilter/entry.h"

namespace pathproof::agent {

// Conntrack entries to keep; unset fields match everything.
struct ConntrackFilter {
    std::optional<std::uint8_t> protocol;
    std::optional<std::uint16_t> original_destination_port;
    bool births_only = false;  // of events: NEW alone
    // Limits a listener's events, for high rates: no UPDATE is asked for, and DESTROY of an ordinary
    // entry that our own flush took is left out.
    bool brief = false;
    std::uint64_t buffer_bytes = 0;  // of the listener's socket; 0: netfilter::ListenOptions'
};
FIELDS(ConntrackFilter, protocol, original_destination_port, births_only, brief, buffer_bytes)

// Events that a listener heard up to its end, for which the table was emptied.
struct FlowEvents {
    netfilter::EventLog log;
    std::int64_t flushed_ns = 0;  // CLOCK_REALTIME: the table was about to be emptied
};
FIELDS(FlowEvents, log, flushed_ns)

// Entries of UDP flows that nobody sent, as they fill a table: to one port and those after it, in
// turn, from one address and those after it.
struct ConntrackFill {
    frame::IpAddress from;
    frame::Endpoint to;
    std::uint16_t ports = 1;
    std::uint32_t count = 0;
    bool assured = true;  // as if answered: early_drop leaves them alone
};
FIELDS(ConntrackFill, from, to, ports, count, assured)
Status check(const ConntrackFill& fill);

}  // namespace pathproof::agent
