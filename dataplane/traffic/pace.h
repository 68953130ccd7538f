// Departures at chosen instants of the time-stamp counter. Far from a deadline the thread sleeps,
// so that the DUT, which shares our CPUs in the built-in lab, gets them; near it, it spins.
#pragma once

#include <chrono>
#include <cstdint>

namespace pathproof::traffic {

using Nanoseconds = std::chrono::nanoseconds;
using Tsc = std::uint64_t;

// The counter now, in cycles. Invariant and the same on all CPUs of the machines we support.
Tsc tsc_now() noexcept;

// Converts between cycles and time; `hz` is the counter's rate, of_this_machine() the one measured
// here.
class TscClock {
  public:
    explicit TscClock(std::uint64_t hz) : hz_(static_cast<double>(hz)) {}
    static TscClock of_this_machine();

    // Signed, so that a skew may be negative.
    std::int64_t cycles(Nanoseconds time) const noexcept {
        return static_cast<std::int64_t>(static_cast<double>(time.count()) * hz_ / 1e9);
    }
    // As counts to be added to an instant; a negative time goes back from it.
    Tsc ticks(Nanoseconds time) const noexcept { return static_cast<Tsc>(cycles(time)); }
    std::int64_t nanoseconds(Tsc from, Tsc to) const noexcept {
        return static_cast<std::int64_t>(static_cast<double>(static_cast<std::int64_t>(to - from)) *
                                         1e9 / hz_);
    }
    double hz() const noexcept { return hz_; }

  private:
    double hz_;
};

// The run's own clock: nanoseconds since its start.
struct RunClock {
    TscClock tsc;
    Tsc start = 0;
    std::int64_t now_ns() const noexcept { return tsc.nanoseconds(start, tsc_now()); }
    std::int64_t at_ns(Tsc instant) const noexcept { return tsc.nanoseconds(start, instant); }
    Tsc at(std::int64_t ns) const noexcept { return start + tsc.ticks(Nanoseconds(ns)); }
    // Returns the stamp of a frame that leaves at this instant.
    std::uint64_t stamp_ns(Tsc instant) const noexcept {
        return static_cast<std::uint64_t>(at_ns(instant));
    }
};

// The last stretch before a deadline is spun, and no sleep may end inside it.
inline constexpr Nanoseconds kSpin{50'000};

// Returns at the deadline, or at once when it has passed, and says when it returned.
Tsc spin_until(Tsc deadline) noexcept;

// Waits for work without burning a CPU that somebody else needs: after each fruitless look the next
// nap is longer, up to kLongest; a fruitful look starts again with the shortest. Never naps past
// `wake`.
class Napper {
  public:
    explicit Napper(const TscClock& clock) noexcept : clock_(clock) {}
    void found_work() noexcept { nap_ = kShortest; }
    void nap(Tsc wake) noexcept;

  private:
    static constexpr Nanoseconds kShortest{2'000};
    static constexpr Nanoseconds kLongest{100'000};

    TscClock clock_;
    Nanoseconds nap_ = kShortest;
};

// While it lives, the calling thread's sleeps end on time: its timer slack, 50 us by default and as
// long as our spin, is 1 ns; and if the machine permits (CAP_SYS_NICE) it goes before all ordinary
// threads (SCHED_FIFO). Only for threads that sleep most of the time: it takes the CPU from the
// DUT's own programs.
class Promptness {
  public:
    Promptness() noexcept;
    Promptness(const Promptness&) = delete;
    Promptness& operator=(const Promptness&) = delete;
    ~Promptness();
};

// Highest rate of departures at which an lcore sleeps most of the time.
inline constexpr double kPromptRate = 2'000;

}  // namespace pathproof::traffic
