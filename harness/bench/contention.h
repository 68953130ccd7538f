// Other users of the CPUs while a round was measured: a round that they disturbed says nothing
// about the program under test.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "dataplane/base/result.h"

namespace pathproof::bench {

// Time that all CPUs together have spent since boot, in seconds (/proc/stat), and what of it was
// ours: this process and the children that it has waited for (getrusage). An interrupt's time is
// that of the thread which it interrupts, on both sides.
struct CpuClock {
    double wall = 0;   // CLOCK_MONOTONIC, of one CPU
    double busy = 0;   // all but idle and waiting for devices
    double steal = 0;  // taken by the hypervisor
    double own = 0;    // and of ksoftirqd, which does the kernel's part of the lanes' traffic
    unsigned cpus = 1;
};

// Reads the machine. kFailed when /proc/stat cannot be read.
Result<CpuClock> read_cpu_clock();

struct CpuTimes {
    double busy = 0;
    double steal = 0;
    unsigned cpus = 0;
};
// The text of /proc/stat; nothing when it does not begin with the line of all CPUs.
std::optional<CpuTimes> parse_proc_stat(std::string_view text, double ticks_per_second);

// As shares of all CPUs' time between two readings, and of one process' time.
struct Contention {
    double steal_share = 0;
    double foreign_share = 0;  // of processes that are not ours, and of other kernel threads
    // Time that the measured process' busiest thread was ready to run and another ran (schedstat),
    // as a share of that and its running time. Nothing where threads of the lane share CPUs by
    // design.
    std::optional<double> waiting_share;
};

Contention contention_between(const CpuClock& before, const CpuClock& after);

// Returns the reason why the round is not to be used; empty when it is fit.
std::string objection(const Contention& contention);

}  // namespace pathproof::bench
