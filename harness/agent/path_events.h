// The result of a path watch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/drops/link_watch.h"
#include "harness/drops/summary.h"
#include "harness/message/fields.h"

namespace pathproof::agent {

// Events that a path watch saw.
struct PathEvents {
    drops::DropSummary drops;
    std::string untraced;  // why `drops` holds nothing; empty when it does
    std::vector<drops::Outage> outages;
    std::int64_t began_ns = 0;  // CLOCK_REALTIME
    // Packets that all CPUs of the host dropped from full backlogs (/proc/net/softnet_stat).
    std::uint64_t backlog = 0;
};
FIELDS(PathEvents, drops, untraced, outages, began_ns, backlog)

}  // namespace pathproof::agent
