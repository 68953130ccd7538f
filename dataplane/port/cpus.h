// The CPUs that this process may use. Takes no DPDK.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace pathproof::port {

// Returns the usable CPUs in ascending order, at most `most` of them (sched_getaffinity(2)); CPU 0
// alone if the kernel does not say.
std::vector<int> usable_cpus(std::size_t most = std::numeric_limits<std::size_t>::max());

// Returns whether a thread of this process may be pinned to the CPU. An isolated CPU (isolcpus=) is
// none of those above, and may be named all the same.
bool may_pin_to(int cpu);

struct PlacedCpu {
    int cpu = 0;
    int node = -1;  // NUMA node; -1: not known
};
// CPUs with the nodes that the kernel puts them on.
std::vector<PlacedCpu> place(std::span<const int> cpus);

}  // namespace pathproof::port
