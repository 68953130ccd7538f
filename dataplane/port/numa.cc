#include "dataplane/port/numa.h"

#include <fmt/ranges.h>

namespace pathproof::port {
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
