#include "dataplane/port/eal.h"

#include <fmt/ranges.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_version.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <set>
#include <thread>
#include <utility>

#include "dataplane/base/number.h"
#include "dataplane/port/cpus.h"
#include "dataplane/port/eal_log.h"
#include "dataplane/port/memory.h"
#include "dataplane/port/pci_ready.h"

namespace pathproof::port {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "pathproof-";
std::atomic<bool> started_once = false;

// Ordinary pages are taken when they are first written: without this the machine would run out of
// memory in the middle of it.
Status check_memory(const EalOptions& options) {
    const auto available = available_memory_mib();
    if (options.hugepages || !options.pci.empty() || !available ||
        options.memory_mib <= *available) {
        return {};
    }
    return fail(ErrorCode::kBadInput,
                "the frame buffers of the ports need {} MiB of memory and {} MiB are available: "
                "use fewer queues",
                options.memory_mib, *available);
}

// Returns the device's name without its arguments.
std::string name_of(const std::string& device) {
    return device.substr(0, device.find(','));
}

Status check(const EalOptions& options, const std::vector<int>& usable) {
    std::vector<int> wanted = options.worker_cpus;
    wanted.insert(wanted.end(), options.main_cpus.begin(), options.main_cpus.end());
    for (const int cpu : wanted) {
        if (std::ranges::find(usable, cpu) == usable.end() && !may_pin_to(cpu)) {
            return fail(ErrorCode::kBadInput, "CPU {} is not one this process may use ({})", cpu,
                        fmt::join(usable, ", "));
        }
    }
    if (options.worker_cpus.size() + 1 > RTE_MAX_LCORE) {
        return fail(ErrorCode::kBadInput, "{} workers are more than DPDK's {} lcores",
                    options.worker_cpus.size(), RTE_MAX_LCORE - 1);
    }
    for (const std::string& device : options.pci) {
        TRY(pci_ready(name_of(device)));
    }
    TRY(check_memory(options));
    std::set<std::string> names;
    for (const std::string& vdev : options.vdevs) {
        if (!names.insert(name_of(vdev)).second) {
            return fail(ErrorCode::kBadInput,
                        "device '{}' is named twice; give each vdev its own number", vdev);
        }
    }
    return {};
}

// "0@(0,1),1@0,2@1": lcore 0 is the main one, and several lcores may share a CPU.
std::string lcore_map(const EalOptions& options, const std::vector<int>& usable) {
    std::string map = fmt::format(
        "0@({})", fmt::join(options.main_cpus.empty() ? usable : options.main_cpus, ","));
    for (std::size_t worker = 0; worker < options.worker_cpus.size(); ++worker) {
        map += fmt::format(",{}@{}", worker + 1, options.worker_cpus[worker]);
    }
    return map;
}

std::vector<std::string> arguments(const EalOptions& options, const std::vector<int>& usable,
                                   const std::string& prefix) {
    std::vector<std::string> words = {"pathproof",     "--lcores", lcore_map(options, usable),
                                      "--main-lcore",  "0",        "--no-telemetry",
                                      "--file-prefix", prefix};
    if (options.hugepages || !options.pci.empty()) {
        words.insert(words.end(), {"--in-memory"});
    } else {
        // DPDK 22.11 refuses --in-memory with --no-huge; --no-shconf keeps its files away all the
        // same.
        words.insert(words.end(),
                     {"--no-huge", "-m", std::to_string(options.memory_mib), "--no-shconf"});
    }
    if (options.pci.empty()) {
        words.insert(words.end(), {"--no-pci", "--iova-mode", "va"});
    }
    for (const std::string& device : options.pci) {
        words.insert(words.end(), {"-a", device});
    }
    for (const std::string& device : options.vdevs) {
        words.insert(words.end(), {"--vdev", device});
    }
    return words;
}

// Runtime folders of our processes that were killed before they could remove them.
void sweep_dead_folders(const fs::path& parent) {
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(parent, ignored)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with(kPrefix)) {
            continue;
        }
        const auto pid = whole_number<pid_t>(name.substr(kPrefix.size()));
        if (pid && kill(*pid, 0) != 0 && errno == ESRCH) {
            fs::remove_all(entry.path(), ignored);
        }
    }
}

void remove_runtime_folder(const std::string& prefix) {
    const fs::path folder = rte_eal_get_runtime_dir();
    if (folder.filename() != prefix) {
        return;
    }
    std::error_code ignored;
    fs::remove_all(folder, ignored);
}

Failure refused(int reason, std::size_t log_from, const EalOptions& options) {
    const std::string said = eal_log_errors(log_from);
    for (const std::string& vdev : options.vdevs) {
        const std::string device = name_of(vdev);
        // Said of a name that no bus and no driver takes (eal_common_devargs.c).
        if (said.find(fmt::format("failed to parse device \"{}\"", device)) != said.npos) {
            return fail(ErrorCode::kNotFound,
                        "DPDK has no driver for '{}'; virtual devices are net_tap, net_ring, "
                        "net_null, net_af_packet, net_af_xdp and others",
                        device);
        }
    }
    if (says_out_of_memory(said)) {
        return fail(ErrorCode::kNotSupported,
                    "DPDK's EAL did not start: there is not enough memory for it; 'ulimit -v' and "
                    "the cgroup's memory.max say how much it may have. It said: {}",
                    said);
    }
    const ErrorCode code =
        reason == EACCES || reason == EPERM ? ErrorCode::kNotPermitted : ErrorCode::kFailed;
    return fail(code, "DPDK's EAL did not start: {}", said.empty() ? rte_strerror(reason) : said);
}

}  // namespace

Result<Eal> Eal::start(const EalOptions& options) {
    const std::vector<int> usable = usable_cpus();
    TRY(check(options, usable));
    if (started_once.exchange(true)) {
        return fail(ErrorCode::kNotSupported,
                    "DPDK's EAL was already started in this process and cannot be started again");
    }
    const std::string prefix = fmt::format("{}{}", kPrefix, getpid());
    std::vector<std::string> words = arguments(options, usable, prefix);
    std::vector<char*> argv;
    for (std::string& word : words) {
        argv.push_back(word.data());
    }
    collect_eal_log();
    const std::size_t log_from = eal_log_text().size();
    int outcome = 0;
    with_standard_streams_aside(
        [&] { outcome = rte_eal_init(static_cast<int>(argv.size()), argv.data()); });
    if (outcome < 0) {
        const int reason = rte_errno;
        remove_runtime_folder(prefix);
        return refused(reason, log_from, options);
    }
    sweep_dead_folders(fs::path(rte_eal_get_runtime_dir()).parent_path());
    return Eal(prefix, options.worker_cpus.size());
}

Eal::~Eal() {
    if (prefix_.empty()) {
        return;
    }
    for (unsigned worker = 0; worker < workers(); ++worker) {
        join(worker);
    }
    rte_eal_cleanup();
    remove_runtime_folder(prefix_);
}

Status Eal::launch(unsigned worker, std::function<int()> work) {
    if (worker >= workers()) {
        return fail(ErrorCode::kBadInput,
                    "worker {} does not exist: the tester has {} worker lcores", worker, workers());
    }
    if (running(worker)) {
        return fail(ErrorCode::kUnavailable, "worker lcore {} is busy", worker + 1);
    }
    join(worker);
    work_[worker] = std::move(work);
    const auto run = [](void* function) {
        return (*static_cast<std::function<int()>*>(function))();
    };
    const int outcome = rte_eal_remote_launch(run, &work_[worker], worker + 1);
    if (outcome != 0) {
        return fail(ErrorCode::kFailed, "launch on worker lcore {}: {}", worker + 1,
                    rte_strerror(-outcome));
    }
    return {};
}

bool Eal::running(unsigned worker) const {
    return worker < workers() && rte_eal_get_lcore_state(worker + 1) == RUNNING;
}

int Eal::join(unsigned worker) {
    if (worker >= workers()) {
        return 0;
    }
    // rte_eal_wait_lcore() spins; the CPU it would take may be a worker's.
    while (running(worker)) {
        std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
    return rte_eal_wait_lcore(worker + 1);
}

std::string Eal::dpdk_version() {
    return rte_version();
}

}  // namespace pathproof::port
