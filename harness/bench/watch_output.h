// Counting what an event reader printed: the text of `conntrack -E`, and of `inspect watch`, which
// is the same with its gaps and missed events marked.
#pragma once

#include <cstdint>
#include <string_view>

#include "dataplane/base/result.h"
#include "harness/bench/output_file.h"

namespace pathproof::bench {

struct WatchCount {
    std::uint64_t new_live = 0;    // [NEW] lines
    std::uint64_t new_missed = 0;  // [NEW] lines marked [MISSED]: found by reconciling after a gap
    std::uint64_t last_gap = 0;    // number of the last "# gap N" line: they count from 1
    std::uint64_t warnings = 0;    // ENOBUFS on standard error

    // Places where the reader says that events are missing, in whichever way it says so.
    std::uint64_t gaps() const { return last_gap > warnings ? last_gap : warnings; }
};

// A line of standard output.
void count_line(std::string_view line, WatchCount& count);

Result<WatchCount> read_watch_output(const OutputFile& out, const OutputFile& err);

}  // namespace pathproof::bench
