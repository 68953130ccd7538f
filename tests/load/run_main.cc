#define BOOST_TEST_MODULE load_run
#include <sched.h>

#include <boost/test/unit_test.hpp>

#include "tests/port/eal_fixture.h"

using pathproof::port::OneEal;

namespace {

// Two workers, on two CPUs where there are two.
pathproof::port::EalOptions two_workers() {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    std::vector<int> cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE && cpus.size() < 2; ++cpu) {
        if (CPU_ISSET(cpu, &set)) {
            cpus.push_back(cpu);
        }
    }
    return {.worker_cpus = {cpus.front(), cpus.back()}, .memory_mib = 512};
}

const bool kOptionsSet = (OneEal::options = two_workers(), true);

}  // namespace

BOOST_TEST_GLOBAL_FIXTURE(OneEal);
