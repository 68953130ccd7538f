// Measures the rate at which frames arrive while a program sends them, by a counter that is not the
// program's.
#pragma once

#include <chrono>
#include <functional>

#include "dataplane/base/result.h"
#include "harness/bench/measured_program.h"
#include "harness/bench/veth/device_counters.h"

namespace pathproof::bench {

struct RateWindow {
    double frames_per_second = 0;
    double frame_bytes = 0;  // mean, without FCS
};

using Referee = std::function<Result<Received>()>;

// Waits for the first frames, lets the program settle, and counts over a window in the middle of
// its run, so that neither its start nor its end is in it. kFailed when it ends before.
Result<RateWindow> watch(MeasuredProgram& program, const Referee& referee,
                         std::chrono::nanoseconds window);

// Time that a program must go on sending beyond the window.
inline constexpr std::chrono::milliseconds kAroundWindow{1500};

}  // namespace pathproof::bench
