// Whether the time-stamp counter, which all times and rates stand on, runs as fast as it is said
// to.
#pragma once

#include <cstdint>
#include <optional>

#include "dataplane/port/counter_rate.h"
#include "dataplane/traffic/pace.h"

namespace pathproof::load {

class ClockCheck {
  public:
    // Compares from here on.
    explicit ClockCheck(const traffic::TscClock& clock);

    // How many millionths the counter is ahead of CLOCK_MONOTONIC by its rate (negative: behind);
    // nothing within the first second, when the reading itself would be most of it.
    std::optional<double> ppm() const;

  private:
    traffic::TscClock clock_;
    port::ClockReading start_;
};

// Whether the counter runs on at one rate through frequency changes and idle states: the flags
// constant_tsc and nonstop_tsc in the text of /proc/cpuinfo.
bool invariant_counter(const char* cpuinfo);
bool invariant_counter();

}  // namespace pathproof::load
