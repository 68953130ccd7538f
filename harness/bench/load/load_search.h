// The highest rate at which nothing is lost, found by halving: for lanes that compare with tools
// which wait for answers before they ask again.
#pragma once

#include <chrono>

#include "dataplane/load/load_run.h"

namespace pathproof::bench {

// Short trials first, then one of `duration` at the rate that they found, which is taken a
// twentieth lower for as long as that one loses something. kFailed when even a thousand frames a
// second do not all come back.
Result<load::TrialReport> search_without_loss(load::LoadRun& run,
                                              std::chrono::nanoseconds duration);

}  // namespace pathproof::bench
