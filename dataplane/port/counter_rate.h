// Rate of the time-stamp counter, by CLOCK_MONOTONIC.
#pragma once

#include <cstdint>

namespace pathproof::port {

// Readings of both clocks at one instant.
struct ClockReading {
    std::uint64_t tsc = 0;
    std::int64_t monotonic_ns = 0;
    std::uint64_t window = 0;  // cycles that the reading took: the two may be half of it apart
};

// Returns the shortest of several readings: good to some 20 ns where the clock is read without a
// system call.
ClockReading read_clocks() noexcept;

// Cycles per second, measured over a tenth of a second when it is first asked for. EAL rounds its
// own measurement to 10 MHz where the CPU does not tell (estimate_tsc_freq of eal_common_timer.c):
// on a counter of 2596 MHz every second is 1.5 ms short then.
std::uint64_t counter_hz();

}  // namespace pathproof::port
