#include "harness/agent/cpu_use.h"

#include <boost/test/unit_test.hpp>

using namespace pathproof::agent;

BOOST_AUTO_TEST_SUITE(cpu_use)

BOOST_AUTO_TEST_CASE(busy_time_leaves_out_idle_and_waiting) {
    const char* stat =
        "cpu  100 20 30 4000 500 6 7 0 0 0\n"
        "cpu0 50 10 15 2000 250 3 3 0 0 0\n"
        "intr 12345 0 9\n";
    BOOST_TEST(parse_busy_seconds(stat, 100) == 1.63, boost::test_tools::tolerance(1e-9));
    BOOST_TEST(parse_busy_seconds("", 100) == 0);
    BOOST_TEST(
        parse_softirq_seconds("cpu  1 2 3 4 5 6 70 8 0 0\ncpu0 1 2 3 4 5 6 70 8 0 0\n", 100) == 0.7,
        boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(interrupts_are_those_of_the_device_alone) {
    const char* text =
        "           CPU0       CPU1\n"
        " 24:         10         20   PCI-MSI 524288-edge      eth0-TxRx-0\n"
        " 25:          1          2   PCI-MSI 524289-edge      eth01-TxRx-0\n"
        " 26:        100          0   PCI-MSI 524290-edge      mlx5_comp0@pci:0000:3b:00.0\n"
        "NMI:          7          7   Non-maskable interrupts\n";
    BOOST_TEST(parse_interrupts(text, {}, "eth0").value_or(0) == 30u);
    BOOST_TEST(parse_interrupts(text, {"26"}, "ens1").value_or(0) == 100u);
    BOOST_TEST(!parse_interrupts(text, {}, "d0").has_value());
}

BOOST_AUTO_TEST_CASE(softirqs_and_memory_are_read_by_name) {
    BOOST_TEST(parse_softirqs("      CPU0 CPU1\n  NET_TX:  1 2\n  NET_RX:  30 4\n", "NET_RX") ==
               34u);
    BOOST_TEST(parse_memory("MemTotal: 100 kB\nMemAvailable:  42 kB\n", "MemAvailable") == 42);
    BOOST_TEST(parse_memory("", "Slab") == 0);
}

BOOST_AUTO_TEST_SUITE_END()
