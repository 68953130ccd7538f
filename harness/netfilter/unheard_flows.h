// Flows that a listener is told nothing of.
#pragma once

#include <cstdint>
#include <string>

namespace pathproof::netfilter {

// Flows that the kernel sends events about, by the sysctl net.netfilter.nf_conntrack_events
// (nf_ct_ecache_ext_add()).
enum class EventsOf : std::uint8_t {
    kNone,         // 0
    kAll,          // 1
    kNewFlows,     // 2, the default: of flows that begin while somebody listens
    kNobodyKnows,  // it cannot be read
};
// In a network namespace (empty: the caller's).
EventsOf events_of(const std::string& netns);

// Reports in one sentence which flows will cause no event; empty: all will cause events. `flows`:
// number of flows in the table when listening began.
std::string unheard_flows(EventsOf events, std::uint64_t flows);

}  // namespace pathproof::netfilter
