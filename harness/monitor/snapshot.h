// All that is known of a namespace's connection tracking at one moment, as one plain value: what
// `inspect top` shows and `inspect export` serves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/drops/summary.h"
#include "harness/monitor/backend.h"
#include "harness/monitor/pods.h"
#include "harness/netfilter/clashes.h"
#include "harness/netfilter/stats.h"
#include "harness/netfilter/watcher.h"

namespace pathproof::monitor {

// Counted since the monitor's start.
struct EventTotals : netfilter::EventCounts {
    // Events lost in an overrun and found afterwards by comparing with the table; the counts
    // include them.
    std::uint64_t missed = 0;
    std::uint64_t overruns = 0;    // ENOBUFS
    std::uint64_t unreadable = 0;  // messages that no event could be read from
};

// Per second, over the last `seconds`. Not measured yet when `seconds` is 0.
struct Rates {
    double seconds = 0;
    double created = 0;
    double updated = 0;
    double destroyed = 0;
    double clashes = 0;        // hidden entries found
    double clash_resolve = 0;  // the kernel's counter: merged ones too
    double insert_failed = 0;
    double drop = 0;
};

// A conclusion of `inspect doctor`.
struct Finding {
    std::string kind;         // "happening", "old entry", "dropped", "severe", "may happen"
    std::string cause;        // one word of a list: "stale-entry", "backend-silent", "rp-filter"
    std::uint64_t count = 0;  // entries, flows or packets; 0: it has none
    std::string what, next;   // a sentence, and the next command
};
struct Findings {
    std::vector<Finding> found;        // the surest harm first
    std::vector<std::string> missing;  // parts that could not be seen
    std::int64_t time_ns = 0;          // CLOCK_REALTIME of the answer
};

struct Snapshot {
    std::string netns;         // empty: the caller's
    std::string kernel;        // release
    std::int64_t time_ns = 0;  // CLOCK_REALTIME
    double seconds = 0;        // since the start

    netfilter::TableSize table;
    std::vector<netfilter::CpuStats> cpus;              // counters as the kernel gives them
    std::vector<netfilter::CpuStats> cpus_since_start;  // their growth

    EventTotals events;
    std::string unheard;  // of which flows no event will come, in one sentence; empty: of none
    Rates rates;
    std::vector<netfilter::Gap> gaps;  // the last few, newest first

    netfilter::ClashCounts clashes;
    std::vector<netfilter::Clash> last_clashes;            // the last few, newest first
    std::vector<netfilter::LateAnswer> last_late_answers;  // the last few, newest first

    BackendReport backends;

    std::optional<KnownPods> known_pods;  // as Monitor::know_pods() had them last
    std::map<Pod, PodCounts> pods;        // each of them

    std::optional<drops::DropSummary> drops;
    std::string drops_missing;  // without `drops`: why, in one sentence; empty: not asked for

    std::optional<Findings> findings;  // the last ones; nothing: not asked for, or not answered yet

    // A source failed and this sentence says which: its figures are the last that were read.
    std::string failure;

    // Clash counts are lower bounds after an overrun.
    bool counts_are_lower_bounds() const { return events.overruns > 0 || events.unreadable > 0; }
};

}  // namespace pathproof::monitor
