#include "dataplane/port/numa.h"

#include <fmt/ranges.h>

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

std::vector<PlacedCpu> place(std::span<const int> cpus) {
    std::vector<PlacedCpu> placed;
    for (const int cpu : cpus) {
        placed.push_back({cpu, node_of(cpu)});
    }
    return placed;
}

std::string far_cpus(const PortInfo& port, std::span<const PlacedCpu> cpus) {
    std::vector<std::string> away;
    for (const PlacedCpu& placed : cpus) {
        if (port.numa_node >= 0 && placed.node >= 0 && placed.node != port.numa_node) {
            away.push_back(fmt::format("CPU {} on node {}", placed.cpu, placed.node));
        }
    }
    if (away.empty()) {
        return {};
    }
    return fmt::format("port {} is on NUMA node {}, but served by {}; take CPUs of node {}",
                       port.name, port.numa_node, fmt::join(away, ", "), port.numa_node);
}

}  // namespace pathproof::port
