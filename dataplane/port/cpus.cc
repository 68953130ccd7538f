#include "dataplane/port/cpus.h"

#include <fmt/format.h>
#include <sched.h>

#include <charconv>
#include <filesystem>

namespace pathproof::port {
namespace {

// The kernel links each CPU's folder to its node: /sys/devices/system/cpu/cpu3/node0.
int node_of(int cpu) {
    constexpr std::string_view kNode = "node";
    std::error_code none;
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}", cpu);
    for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
        const std::string name = entry.path().filename().string();
        int node = -1;
        if (name.starts_with(kNode) &&
            std::from_chars(name.data() + kNode.size(), name.data() + name.size(), node).ec ==
                std::errc()) {
            return node;
        }
    }
    return -1;
}

}  // namespace

std::vector<int> usable_cpus(std::size_t most) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        CPU_SET(0, &set);
    }
    std::vector<int> cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE && cpus.size() < most; ++cpu) {
        if (CPU_ISSET(cpu, &set)) {
            cpus.push_back(cpu);
        }
    }
    return cpus;
}

bool may_pin_to(int cpu) {
    cpu_set_t before;
    if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof before, &before) != 0) {
        return false;
    }
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    const bool taken = sched_setaffinity(0, sizeof one, &one) == 0;
    sched_setaffinity(0, sizeof before, &before);
    return taken;
}

std::vector<PlacedCpu> place(std::span<const int> cpus) {
    std::vector<PlacedCpu> placed;
    for (const int cpu : cpus) {
        placed.push_back({cpu, node_of(cpu)});
    }
    return placed;
}

}  // namespace pathproof::port
