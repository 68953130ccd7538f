// Deadlines of one sender's frames: arithmetic only, no clock is read here. Several senders share
// one rate by taking turns, so that together they leave the gaps of one.
#pragma once

#include <cstdint>

#include "dataplane/load/load_plan.h"
#include "dataplane/traffic/pace.h"

namespace pathproof::load {

using traffic::Tsc;

// A unit is what leaves at one deadline: a frame, or the two frames of a pair.
struct Pacing {
    double units_per_second = 0;  // of all senders together; 0: as fast as it goes
    std::uint64_t units = 0;      // of all senders together; 0: no limit
    Nanoseconds duration{0};      // 0: no limit
    unsigned sender = 0;          // this one of ...
    unsigned senders = 1;
    // A sender that is further behind gives up what is beyond this many units: what follows a stall
    // is no burst that nobody asked for.
    std::uint64_t most_behind = 32;
};

// Returns how many deadlines of `units_per_second` lie in a time, its start included and its end
// not.
std::uint64_t units_in(Nanoseconds duration, double units_per_second) noexcept;

// Returns how many of `units`, dealt out in turn to `senders`, fall to number `sender`.
std::uint64_t share_of(std::uint64_t units, unsigned sender, unsigned senders) noexcept;

// Deadline of unit u of sender k of n: start + (u n + k) / rate, computed from u and not by adding
// up, so that no error grows.
class Pacer {
  public:
    Pacer() = default;
    Pacer(const Pacing& pacing, const traffic::TscClock& clock, Tsc start) noexcept;

    // Units that are due and not taken. What lies further behind than `most_behind` is left out for
    // good: with a limit on units the rest of the schedule moves, with a duration it is missing.
    std::uint64_t due(Tsc now) noexcept;
    void take(std::uint64_t units) noexcept { taken_ += units; }

    // Returns the deadline of the next unit that was not taken; at full speed always the start.
    Tsc deadline() const noexcept;
    bool finished(Tsc now) const noexcept;

    std::uint64_t taken() const noexcept { return taken_; }
    std::uint64_t left_out() const noexcept { return left_out_; }
    bool paced() const noexcept { return cycles_apart_ > 0; }

  private:
    std::uint64_t remaining() const noexcept;

    double cycles_apart_ = 0;  // from one unit to the next, whoever sends it
    double units_a_cycle_ = 0;
    double senders_ = 1;
    double sender_ = 0;
    std::uint64_t most_behind_ = 0;
    std::uint64_t counted_ = 0;  // of this sender, by the limit on units
    std::uint64_t lasting_ = 0;  // of this sender, by the duration
    std::uint64_t taken_ = 0;
    std::uint64_t left_out_ = 0;
    Tsc start_ = 0;
    Tsc end_ = 0;
};

// The number of units in each second since the start against what the rate asks for.
class RateWindows {
  public:
    RateWindows() = default;
    RateWindows(const traffic::TscClock& clock, Tsc start, double units_per_second) noexcept;

    void note(Tsc now, std::uint64_t units) noexcept {
        while (now >= end_) {
            close();
        }
        in_window_ += units;
    }
    // Windows that were over when the last unit left, and the greatest |units / asked - 1| of them.
    std::uint64_t windows() const noexcept { return windows_; }
    double worst() const noexcept { return worst_; }

  private:
    void close() noexcept;

    Tsc start_ = 0;
    Tsc end_ = ~Tsc{0};
    double second_ = 0;
    double asked_ = 0;
    std::uint64_t in_window_ = 0;
    std::uint64_t windows_ = 0;
    double worst_ = 0;
};

}  // namespace pathproof::load
