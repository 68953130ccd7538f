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
    std::uint64_t new_missed = 0;  // of flows found by reconciling after a gap
    std::uint64_t gaps = 0;        // places where the reader says that events are missing
};

void count_line(std::string_view line, WatchCount& count);
Result<WatchCount> read_watch_output(const OutputFile& out);

}  // namespace pathproof::bench
