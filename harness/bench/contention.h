// Whether something else was using the CPUs while a round was measured: such a round says nothing
// about the program under test.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dataplane/base/result.h"

namespace pathproof::bench {

// Time that all CPUs together have spent since boot, in seconds (/proc/stat), and what of it was
// ours: this process and the children that it has waited for (getrusage).
struct CpuClock {
    double wall = 0;   // CLOCK_MONOTONIC, of one CPU
    double user = 0;   // user and nice
    double steal = 0;  // taken by the hypervisor
    double own_user = 0;
    unsigned cpus = 1;
};

// Reads the machine. kFailed when /proc/stat cannot be read.
Result<CpuClock> read_cpu_clock();

struct CpuTimes {
    double user = 0;
    double steal = 0;
    unsigned cpus = 0;
};
// The text of /proc/stat; nothing when it does not begin with the line of all CPUs.
std::optional<CpuTimes> parse_proc_stat(std::string_view text, double ticks_per_second);

// As shares of all CPUs' time between two readings, and of one process' time.
struct Contention {
    double steal_share = 0;
    double foreign_share = 0;  // user time of processes that are not ours
    // Of the measured process: time that it was ready to run and another ran (schedstat), as a
    // share of that and its running time. Nothing where processes of the lane share CPUs by design.
    std::optional<double> waiting_share;
};

Contention contention_between(const CpuClock& before, const CpuClock& after);

// Why the round is not to be used; empty when it is fit.
std::string objection(const Contention& contention);

}  // namespace pathproof::bench
