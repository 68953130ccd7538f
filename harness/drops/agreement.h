// Drops of packets beside conntrack's own counters over the same time: they have to tell the same
// story.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/drops/summary.h"
#include "harness/netfilter/entry.h"

namespace pathproof::drops {

struct Agreement {
    // Counters of conntrack (nf_conntrack_core.c). Kernels that give drop reasons at all count
    // resolved clashes apart (clash_resolve), so these are packets that were dropped.
    // At confirmation: the tuple was taken, or the entry was dying.
    std::uint64_t insert_failed = 0;
    // The clashes among insert_failed, and packets that got no entry as the table was full.
    std::uint64_t drop = 0;
    // At confirmation: too many entries in one hash bucket.
    std::uint64_t chain_too_long = 0;

    // Packets that conntrack refused, by these counters.
    std::uint64_t refused = 0;
    // Packets with NETFILTER_DROP that conntrack can have refused: dropped by the verdict of a hook
    // (nf_hook_slow), and not those whose flow was in the table.
    std::uint64_t seen = 0;
    // The part of `seen` past source NAT: nothing but confirmation drops there.
    std::uint64_t seen_past_nat = 0;
    // The other packets with NETFILTER_DROP: rules dropped them.
    std::uint64_t by_rules = 0;

    // seen - refused: more were seen when rules dropped packets of new flows, fewer when events
    // were lost or a counter moved between the two readings.
    std::int64_t difference() const {
        return static_cast<std::int64_t>(seen) - static_cast<std::int64_t>(refused);
    }
    bool agree() const { return difference() == 0; }
};

// `change`: the growth of conntrack's counters over the time of the summary.
Agreement compare(const DropSummary& drops, const std::vector<netfilter::CpuStats>& change);

// One sentence that says whether they agree, and if not by how much and what that can come from.
std::string explain(const Agreement& agreement, const DropSummary& drops);

}  // namespace pathproof::drops
