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

}  // namespace pathproof::port
