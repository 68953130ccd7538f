// Netlink messages of ctnetlink as values. Safe against any bytes: a message that is cut short,
// nested wrongly or of absurd lengths gives nothing or an entry made of what could be read, never
// more.
#pragma once

#include <cstdint>

#include "harness/netfilter/entry.h"

struct nlmsghdr;

namespace pathproof::netfilter {

enum class Parsed { kOk, kUnreadable };

// Reads one message, whose header and length have been checked against the buffer (MessageReader).
// Unknown attributes are passed over. An entry has at least both tuples; without them it is
// unreadable. `out` is overwritten and its strings reused, so that a dump does not allocate.
Parsed parse_entry(const nlmsghdr& message, Entry& out);
// `time_ns` is taken over into the event.
Parsed parse_event(const nlmsghdr& message, std::int64_t time_ns, Event& out);
Parsed parse_cpu_stats(const nlmsghdr& message, CpuStats& out);

}  // namespace pathproof::netfilter
