#include "harness/bench/contention.h"

#include <boost/test/unit_test.hpp>

using namespace pathproof::bench;

BOOST_AUTO_TEST_SUITE(contention)

BOOST_AUTO_TEST_CASE(proc_stat_gives_user_and_stolen_time_of_all_cpus) {
    const auto times = parse_proc_stat(
        "cpu  1000 200 300 4000 5 6 7 80 9 0\n"
        "cpu0 500 100 150 2000 2 3 3 40 4 0\n"
        "cpu1 500 100 150 2000 3 3 4 40 5 0\n"
        "intr 12345 0 0\n"
        "ctxt 99\n",
        100);
    BOOST_REQUIRE(times);
    BOOST_TEST(times->busy == 15.13);  // all but idle and iowait
    BOOST_TEST(times->steal == 0.8);
    BOOST_TEST(times->cpus == 2U);
}

BOOST_AUTO_TEST_CASE(text_without_the_line_of_all_cpus_gives_nothing) {
    BOOST_TEST(!parse_proc_stat("", 100).has_value());
    BOOST_TEST(!parse_proc_stat("intr 1 2 3 4 5 6 7 8 9\n", 100).has_value());
    BOOST_TEST(!parse_proc_stat("cpu 1 2 3\n", 100).has_value());
}

BOOST_AUTO_TEST_CASE(shares_are_of_the_time_of_all_cpus) {
    const CpuClock before{.wall = 10, .busy = 100, .steal = 5, .own = 50, .cpus = 2};
    const CpuClock after{.wall = 20, .busy = 108, .steal = 6, .own = 56, .cpus = 2};
    const Contention contention = contention_between(before, after);
    BOOST_TEST(contention.steal_share == 0.05);
    BOOST_TEST(contention.foreign_share == 0.1);
}

BOOST_AUTO_TEST_CASE(our_own_time_may_be_counted_a_little_higher_than_the_machines) {
    const CpuClock before{.wall = 10, .busy = 100, .own = 50, .cpus = 2};
    const CpuClock after{.wall = 11, .busy = 100.9, .own = 51, .cpus = 2};
    BOOST_TEST(contention_between(before, after).foreign_share == 0);
}

BOOST_AUTO_TEST_CASE(a_quiet_round_draws_no_objection) {
    // Seen of a second on a quiet virtual machine of two CPUs, and beside one compiler.
    BOOST_TEST(objection({.foreign_share = 0.005, .waiting_share = 0.02}) == "");
    BOOST_TEST(objection({.foreign_share = 0.02, .waiting_share = 0.066}) != "");
    BOOST_TEST(objection({.steal_share = 0.001, .foreign_share = 0.01, .waiting_share = 0.005}) ==
               "");
    BOOST_TEST(objection({}) == "");
}

BOOST_AUTO_TEST_CASE(each_kind_of_contention_is_named) {
    BOOST_TEST(objection({.steal_share = 0.02}) == "2.0 % of CPU time taken by the hypervisor");
    BOOST_TEST(objection({.foreign_share = 0.2}) == "20.0 % of CPU time used by other processes");
    BOOST_TEST(objection({.waiting_share = 0.05}) ==
               "the measured process waited for a CPU for 5.0 % of its time");
}

BOOST_AUTO_TEST_CASE(this_machines_clock_goes_forward_and_sees_our_own_work) {
    const auto before = read_cpu_clock();
    BOOST_REQUIRE(before);
    volatile std::uint64_t work = 0;
    for (std::uint64_t i = 0; i < 20'000'000; ++i) {
        work = work + i;
    }
    const auto after = read_cpu_clock();
    BOOST_REQUIRE(after);
    BOOST_TEST(after->wall > before->wall);
    BOOST_TEST(after->own > before->own);
    BOOST_TEST(after->busy >= before->busy);
    BOOST_TEST(after->cpus >= 1U);
}

BOOST_AUTO_TEST_SUITE_END()
