#include "harness/bench/contention.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "dataplane/base/file.h"
#include "harness/process/cpu_time.h"

namespace pathproof::bench {
namespace {

// On a virtual machine where nothing else ran, the busiest thread waited for up to 0.6 % of a round
// of a second; beside one compiler, all threads of a process together for 6 to 40 %.
constexpr double kMostWaiting = 0.03;
constexpr double kMostSteal = 0.005;
// /proc/stat counts time in ticks, by sampling, and getrusage to the nanosecond: over a round of a
// second or two the two disagree by this much on an idle machine.
constexpr double kMostForeign = 0.03;

double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

double own_seconds() {
    rusage self{};
    rusage children{};
    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &children);
    return seconds(self.ru_utime) + seconds(self.ru_stime) + seconds(children.ru_utime) +
           seconds(children.ru_stime) + process::softirq_thread_seconds();
}

double monotonic_seconds() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::string percent(double share) {
    return fmt::format("{:.1f} %", share * 100);
}

}  // namespace

std::optional<CpuTimes> parse_proc_stat(std::string_view text, double ticks_per_second) {
    std::istringstream lines{std::string(text)};
    std::string word;
    double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
    lines >> word >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal;
    if (!lines || word != "cpu") {
        return std::nullopt;
    }
    CpuTimes times{.busy = (user + nice + system + irq + softirq) / ticks_per_second,
                   .steal = steal / ticks_per_second};
    for (std::string line; std::getline(lines, line);) {
        times.cpus += line.starts_with("cpu") ? 1 : 0;
    }
    return times;
}

Result<CpuClock> read_cpu_clock() {
    const auto times = parse_proc_stat(read_file("/proc/stat").value_or(""),
                                       static_cast<double>(sysconf(_SC_CLK_TCK)));
    if (!times) {
        return fail(ErrorCode::kFailed,
                    "/proc/stat cannot be read: contention of the CPUs cannot be told");
    }
    return CpuClock{.wall = monotonic_seconds(),
                    .busy = times->busy,
                    .steal = times->steal,
                    .own = own_seconds(),
                    .cpus = std::max(times->cpus, 1U)};
}

Contention contention_between(const CpuClock& before, const CpuClock& after) {
    const double all = (after.wall - before.wall) * after.cpus;
    if (all <= 0) {
        return {};
    }
    const double foreign = (after.busy - before.busy) - (after.own - before.own);
    return {.steal_share = (after.steal - before.steal) / all,
            .foreign_share = std::max(0.0, foreign) / all,
            .waiting_share = std::nullopt};
}

std::string objection(const Contention& contention) {
    if (contention.steal_share > kMostSteal) {
        return percent(contention.steal_share) + " of CPU time taken by the hypervisor";
    }
    if (contention.foreign_share > kMostForeign) {
        return percent(contention.foreign_share) + " of CPU time used by other processes";
    }
    if (contention.waiting_share && *contention.waiting_share > kMostWaiting) {
        return "the measured process waited for a CPU for " + percent(*contention.waiting_share) +
               " of its time";
    }
    return {};
}

}  // namespace pathproof::bench
