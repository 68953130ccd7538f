// Reading the conntrack table of a namespace, and emptying it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/netfilter/entry.h"
#include "harness/netfilter/filter.h"

namespace pathproof::netfilter {

enum class Next { kContinue, kStop };
using EntryVisitor = std::function<Next(const Entry&)>;

struct DumpSummary {
    std::uint64_t entries = 0;     // given to the visitor
    std::uint64_t received = 0;    // sent by the kernel, after its filter and before ours
    std::uint64_t unreadable = 0;  // messages that no entry could be read from
    // Sent twice and given once: the kernel begins a bucket anew when the entry that it was to go
    // on with is gone (ctnetlink_dump_table).
    std::uint64_t repeated = 0;
    // The table changed its size under the dump, or the kernel says that it changed
    // (NLM_F_DUMP_INTR): entries may be missing or there twice.
    bool interrupted = false;
};

// Reads the table of the namespace `netns` (empty: the caller's) and gives each entry that matches
// to `visit`, which must not keep the reference. Memory does not grow with the table. What the
// running kernel was found to filter rightly by itself is filtered there (kernel_filter_support());
// every entry is checked against the whole filter here. Hidden entries of resolved clashes are not
// in a dump (ctnetlink_dump_table lists the original direction only).
Result<DumpSummary> dump(const std::string& netns, const Filter& filter, const EntryVisitor& visit);

// Counts the entries that match. Reads no more of a message than the filter needs: nothing when the
// kernel does all of the filtering.
Result<DumpSummary> count_entries(const std::string& netns, const Filter& filter);

// Reads the table into memory; otherwise as dump().
Result<std::vector<Entry>> dump_all(const std::string& netns, const Filter& filter = {});

// Deletes every entry of the namespace, hidden ones too (IPCTNL_MSG_CT_DELETE without a tuple).
Status flush(const std::string& netns);

}  // namespace pathproof::netfilter
