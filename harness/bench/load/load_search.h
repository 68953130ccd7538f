// The highest rate at which nothing is lost, found by halving: for lanes that compare with tools
// which wait for answers before they ask again.
#pragma once

#include <chrono>
#include <functional>

#include "dataplane/load/load_run.h"

namespace pathproof::bench {

// One trial at a rate in frames a second (0: as fast as it goes).
using TrialAt =
    std::function<Result<load::TrialReport>(double rate, std::chrono::nanoseconds length)>;

// Loss that is tolerated where no rate comes back whole: one frame in ten thousand.
inline constexpr double kLossBound = 1e-4;

struct FoundRate {
    load::TrialReport report;  // of the trial of full length
    double loss_bound = 0;     // 0: nothing was lost in it; else kLossBound
};

// Short trials first, then trials of `duration`, from the rate that those found downwards to a
// thousand frames a second, until one loses nothing. When each of them loses something, the first
// that kept to kLossBound. kFailed when none did, with the least loss that was seen.
Result<FoundRate> search_without_loss(const TrialAt& trial, std::chrono::nanoseconds duration);

}  // namespace pathproof::bench
