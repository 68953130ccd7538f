// Whether the time-stamp counter, which all times and rates stand on, runs as fast as it is said
// to.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "dataplane/port/counter_rate.h"
#include "dataplane/traffic/pace.h"

namespace pathproof::load {

// How far the counter was from CLOCK_MONOTONIC in readings all over a trial, on the CPUs that worked.
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

// How many millionths the counter is ahead of CLOCK_MONOTONIC by its rate since `start` (negative:
// behind); nothing within the first second, when the reading itself would be most of it.
std::optional<double> ppm_since(const port::ClockReading& start, const traffic::TscClock& clock);

// Whether the counter runs on at one rate through frequency changes and idle states: the flags
// constant_tsc and nonstop_tsc in the text of /proc/cpuinfo.
bool invariant_counter(const char* cpuinfo);
bool invariant_counter();

// The clock source that CLOCK_MONOTONIC is made from ("hpet"); empty: the kernel does not say.
std::string clock_source();
// Whether that is the counter itself, or what a hypervisor makes from it: then neither can show that
// the other is wrong.
bool made_from_counter(const std::string& source);

}  // namespace pathproof::load
