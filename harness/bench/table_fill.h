// A conntrack table full of entries, made through ctnetlink: the ground that dumps are measured on.
#pragma once

#include <cstdint>
#include <string>

#include "dataplane/base/result.h"

namespace pathproof::bench {

// Puts `entries` different entries into the table of the namespace, with a timeout of a day: of
// each eight, three established TCP connections, two answered UDP flows, one UDP flow that a
// service address translates (DNAT), one established TCP connection over IPv6, one unanswered UDP
// flow.
//
// Errors: what the kernel says of the first entry that it refuses; kFailed when the table then
// holds another number of entries. Needs CAP_NET_ADMIN.
Status fill_table(const std::string& netns, std::uint64_t entries);

// Returns how many entries one table takes: net.netfilter.nf_conntrack_max, which only the
// machine's first namespace can change. 0: no limit.
Result<std::uint64_t> table_limit();

}  // namespace pathproof::bench
