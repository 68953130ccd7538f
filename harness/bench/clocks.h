// The clocks that cycles are counted in: how fast the time-stamp counter ticks, and the core.
#pragma once

#include "harness/verdict/result.h"

namespace pathproof::bench {

// Measured against CLOCK_MONOTONIC, in MHz.
double measure_tsc_mhz();

// A chain of additions, one a core cycle, timed by the counter: the quickest of many short slices,
// in MHz. Cycles of the counter and of the core are not the same: the core speeds up and down.
double measure_core_mhz(double tsc_mhz);

// Returns both as facts of the environment, with the way in which they were measured.
verdict::FactGroup clock_facts();

}  // namespace pathproof::bench
