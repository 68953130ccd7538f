// The CPU time of processes, of the threads of the kernel that serve softirqs, and the cycles that CPUs count.
#pragma once

#include <sys/types.h>

#include <vector>

#include "dataplane/base/file.h"
#include "dataplane/base/result.h"

namespace pathproof::process {

// Of all threads of a process, those that ended too, in user and kernel mode; softirqs that interrupted
// them are in it, unless the kernel keeps these apart (softirqs_apart()).
Result<double> cpu_seconds(pid_t pid);

// Of ksoftirqd of all CPUs, which serve softirqs when there are too many to be served at once.
double softirq_thread_seconds();

// Whether the kernel accounts for the time of softirqs apart from the process that they interrupt
// (CONFIG_IRQ_TIME_ACCOUNTING), by its configuration. Where that cannot be read: false.
bool softirqs_apart();
// Of all CPUs, in ticks of some 10 ms unless softirqs_apart().
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
