// nf_conntrack's counters of a namespace, CPU by CPU, and what they mean on the running kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/message/fields.h"
#include "harness/netfilter/entry.h"

namespace pathproof::netfilter {

// CTA_STATS_* of every possible CPU, for the namespace `netns` (empty: the caller's).
Result<std::vector<CpuStats>> cpu_stats(const std::string& netns);

struct TableSize {
    std::uint64_t entries = 0;  // hidden and expired ones counted: what `conntrack -C` prints
    std::uint64_t maximum = 0;  // 0: this kernel does not say
};
FIELDS(TableSize, entries, maximum)
Result<TableSize> table_size(const std::string& netns);

struct KernelVersion {
    unsigned major = 0;
    unsigned minor = 0;
    auto operator<=>(const KernelVersion&) const = default;
};
// Reads a release such as "6.18.44-generic"; nothing when it does not begin with two numbers.
std::optional<KernelVersion> parse_kernel_release(std::string_view release);
// uname(2)'s release, such as "6.18.44".
std::string running_kernel_release();

// Returns what a counter counts on a kernel of this version. Empty when that is not known: we have
// not heard of the counter, or the kernel is newer than those whose source was read. Then only the
// raw value may be shown.
std::string counter_meaning(std::string_view counter, KernelVersion kernel);

struct CounterMeaning {
    std::string counter;
    std::string text;     // what it counts; empty when that is not known
    std::string unknown;  // then: why, and that only the raw value says something
};
// Returns the meanings of the counters that a kernel of this release (uname(2)) sent, in its order.
// A kernel that sends a counter which came with a change has the change, even if its release is
// older.
std::vector<CounterMeaning> counter_meanings(const CpuStats& stats, std::string_view release);

}  // namespace pathproof::netfilter
