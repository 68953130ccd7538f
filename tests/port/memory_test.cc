#include "dataplane/port/memory.h"

#include <boost/test/unit_test.hpp>
#include <sstream>

using namespace pathproof::port;

BOOST_AUTO_TEST_SUITE(memory)

BOOST_AUTO_TEST_CASE(what_could_be_taken_without_swapping_is_read) {
    std::istringstream meminfo(
        "MemTotal:       24683840 kB\nMemFree:        22320424 kB\nMemAvailable:   23172960 kB\n"
        "HugePages_Total:       0\n");
    BOOST_TEST(available_memory_mib(meminfo).value_or(0) == 22'629U);
    std::istringstream old("MemTotal:       24683840 kB\nMemFree:        22320424 kB\n");
    BOOST_TEST(!available_memory_mib(old));
}

BOOST_AUTO_TEST_CASE(this_machine_has_some) {
    BOOST_TEST(available_memory_mib().value_or(0) > 0U);
}

BOOST_AUTO_TEST_SUITE_END()
