#include "harness/netfilter/entry.h"

#include <boost/test/unit_test.hpp>

using namespace pathproof::netfilter;

BOOST_AUTO_TEST_CASE(totals_add_the_cpus_and_lack_nothing) {
    const std::vector<CpuStats> stats{{0, {{"drop", 2}, {"found", 1}}}, {1, {{"drop", 3}}}};
    BOOST_TEST(total(stats, "drop") == 5U);
    BOOST_TEST(total(stats, "found") == 1U);
    BOOST_TEST(total(stats, "chaintoolong") == 0U);
}

BOOST_AUTO_TEST_CASE(deltas_are_taken_cpu_by_cpu) {
    const std::vector<CpuStats> before{{1, {{"drop", 10}}}, {0, {{"drop", 1}}}};
    const std::vector<CpuStats> after{{0, {{"drop", 4}}}, {1, {{"drop", 10}}}, {2, {{"drop", 7}}}};
    const auto change = delta(before, after);
    BOOST_REQUIRE_EQUAL(change.size(), 3U);
    BOOST_TEST(change[0].value("drop") == 3U);
    BOOST_TEST(change[1].value("drop") == 0U);
    BOOST_TEST(change[2].value("drop") == 7U);  // a CPU that has come since
}

BOOST_AUTO_TEST_CASE(a_counter_that_wrapped_at_32_bits_has_gone_on) {
    const auto change = delta({{0, {{"drop", 0xfffffffe}}}}, {{0, {{"drop", 3}}}});
    BOOST_TEST(change[0].value("drop") == 5U);
}
