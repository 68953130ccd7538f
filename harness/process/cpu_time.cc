#include "harness/process/cpu_time.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "harness/process/program.h"

namespace pathproof::process {
namespace {

// The files with the times of ksoftirqd; one a CPU, for as long as the machine runs.
std::vector<std::string> softirq_threads() {
    std::vector<std::string> files;
    std::error_code gone;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
        if (first_word(entry.path() / "comm").starts_with("ksoftirqd/")) {
            files.push_back(entry.path() / "schedstat");
        }
    }
    return files;
}

}  // namespace

Result<double> cpu_seconds(pid_t pid) {
    clockid_t clock = 0;
    timespec used{};
    const int wrong = clock_getcpuclockid(pid, &clock);
    if (wrong != 0 || clock_gettime(clock, &used) != 0) {
        return fail(ErrorCode::kUnavailable, "the CPU time of process {} cannot be read: {}", pid,
                    std::strerror(wrong != 0 ? wrong : errno));
    }
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

double softirq_thread_seconds() {
    static const std::vector<std::string> files = softirq_threads();
    double sum_ns = 0;
    for (const std::string& path : files) {
        std::ifstream file(path);
        double ran_ns = 0;
        sum_ns += file >> ran_ns ? ran_ns : 0;
    }
    return sum_ns * 1e-9;
}

bool softirqs_apart() {
    static const bool apart = [] {
        const auto configured = run_program(
            {"sh", "-c", "zcat /proc/config.gz 2>/dev/null || cat \"/boot/config-$(uname -r)\""});
        return configured &&
               configured->out.find("CONFIG_IRQ_TIME_ACCOUNTING=y") != std::string::npos;
    }();
    return apart;
}

double softirq_seconds() {
    std::ifstream stat("/proc/stat");
    std::string word;
    double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0;
    stat >> word >> user >> nice >> system >> idle >> iowait >> irq >> softirq;
    return stat ? softirq / static_cast<double>(sysconf(_SC_CLK_TCK)) : 0;
}

Result<CycleCounters> CycleCounters::start() {
    CycleCounters counters;
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.config = PERF_COUNT_HW_CPU_CYCLES;
    attributes.exclude_idle = 1;
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    for (int cpu = 0; cpu < cpus; ++cpu) {
        const long event =
            syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
        if (event < 0) {
            return fail(ErrorCode::kNotSupported, "CPU {} counts no cycles here ({})", cpu,
                        std::strerror(errno));
        }
        counters.events_.emplace_back(static_cast<int>(event));
    }
    return counters;
}

double CycleCounters::read() const {
    double sum = 0;
    for (const Fd& event : events_) {
        std::uint64_t cycles = 0;
        const bool told = ::read(event.get(), &cycles, sizeof cycles) == sizeof cycles;
        sum += told ? static_cast<double>(cycles) : 0;
    }
    return sum;
}

}  // namespace pathproof::process
