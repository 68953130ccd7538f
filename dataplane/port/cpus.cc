#include "dataplane/port/cpus.h"

#include <sched.h>

namespace pathproof::port {

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

}  // namespace pathproof::port
