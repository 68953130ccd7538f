#include "dataplane/port/cpus.h"

#include <sched.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <future>

using namespace pathproof::port;

namespace {

// Returns the usable CPUs in a thread that may run only on `cpus`.
std::vector<int> usable_on(const std::vector<int>& cpus) {
    const auto confined = [&] {
        cpu_set_t set;
        CPU_ZERO(&set);
        for (const int cpu : cpus) {
            CPU_SET(static_cast<std::size_t>(cpu), &set);
        }
        BOOST_REQUIRE(sched_setaffinity(0, sizeof set, &set) == 0);
        return usable_cpus();
    };
    return std::async(std::launch::async, confined).get();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cpus)

BOOST_AUTO_TEST_CASE(only_the_cpus_that_the_kernel_allows_are_usable) {
    for (const int cpu : usable_cpus()) {
        const std::vector<int> one{cpu};
        BOOST_TEST(usable_on(one) == one, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(there_are_no_more_of_them_than_asked_for) {
    const std::vector<int> all = usable_cpus();
    BOOST_REQUIRE(!all.empty());
    BOOST_TEST(std::is_sorted(all.begin(), all.end()));
    BOOST_TEST(usable_cpus(1).size() == 1u);
    BOOST_TEST(usable_cpus(1).front() == all.front());
    BOOST_TEST(usable_cpus(all.size() + 1).size() == all.size());
}

// A CPU outside the usable ones can be named, as with isolcpus=.
BOOST_AUTO_TEST_CASE(a_thread_may_be_pinned_to_a_cpu_that_it_does_not_run_on) {
    const std::vector<int> all = usable_cpus();
    const auto pinned = [&] {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(static_cast<std::size_t>(all.front()), &set);
        BOOST_REQUIRE(sched_setaffinity(0, sizeof set, &set) == 0);
        BOOST_TEST(may_pin_to(all.back()));
        BOOST_TEST(usable_cpus() == std::vector<int>{all.front()},
                   boost::test_tools::per_element());
    };
    std::async(std::launch::async, pinned).get();
    BOOST_TEST(!may_pin_to(-1));
    BOOST_TEST(!may_pin_to(CPU_SETSIZE - 1));
}

BOOST_AUTO_TEST_SUITE_END()
