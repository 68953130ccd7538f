// Checks of the time-stamp counter's rate, on which all times and rates depend.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "dataplane/port/counter_rate.h"
#include "dataplane/traffic/pace.h"

namespace pathproof::load {

// Distance of the counter from CLOCK_MONOTONIC, read all over a trial on the CPUs that worked.
struct CounterWatch {
    unsigned readings = 0;
    std::int64_t elapsed_ns = 0;    // from the first to the last
    std::int64_t farthest_ns = 0;   // ahead (negative: behind), in the worst of them
    std::int64_t uncertain_ns = 0;  // how long the slowest reading itself took: good to that
};
// `start`: the first of them.
CounterWatch watch_counter(const port::ClockReading& start,
                           std::span<const port::ClockReading> readings,
                           const traffic::TscClock& clock);

// Returns by how many millionths the counter's rate since `start` is ahead of CLOCK_MONOTONIC
// (negative: behind). Returns nothing within the first second, when the reading itself would be
// most of the difference.
std::optional<double> ppm_since(const port::ClockReading& start, const traffic::TscClock& clock);

// Returns whether the counter keeps one rate through frequency changes and idle states: the flags
// constant_tsc and nonstop_tsc in the text of /proc/cpuinfo.
bool invariant_counter(const char* cpuinfo);
bool invariant_counter();

// The clock source that CLOCK_MONOTONIC is made from ("hpet"); empty: the kernel does not say.
std::string clock_source();
// Returns whether the clock source is the counter itself, or made from it by a hypervisor: then
// neither can show that the other is wrong.
bool made_from_counter(const std::string& source);

}  // namespace pathproof::load
