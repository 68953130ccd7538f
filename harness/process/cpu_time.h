// The CPU time of processes, of the threads of the kernel that serve softirqs, and the cycles that CPUs count.
#pragma once

#include <sys/types.h>

#include <vector>

#include "dataplane/base/file.h"
#include "dataplane/base/result.h"

namespace pathproof::process {

// Sums the user and kernel time of all threads of a process, those that ended too. It includes softirqs
// that interrupted them, unless the kernel keeps these apart (softirqs_apart()).
Result<double> cpu_seconds(pid_t pid);

// Sums the time of all CPUs' ksoftirqd threads, which serve softirqs when there are too many to be
// served at once.
double softirq_thread_seconds();

// Returns whether the kernel accounts for the time of softirqs apart from the process that they
// interrupt (CONFIG_IRQ_TIME_ACCOUNTING), by its configuration. False if that cannot be read.
bool softirqs_apart();
// Sums the softirq time of all CPUs, in ticks of some 10 ms unless softirqs_apart().
double softirq_seconds();

// Cycles of all CPUs that were not idle (perf_event_open(2), PERF_COUNT_HW_CPU_CYCLES).
class CycleCounters {
  public:
    // kNotSupported: these CPUs count none, as in most virtual machines.
    static Result<CycleCounters> start();
    double read() const;

  private:
    std::vector<Fd> events_;  // one a CPU
};

}  // namespace pathproof::process
