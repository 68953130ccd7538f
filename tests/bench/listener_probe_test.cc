#include "harness/bench/listener_probe.h"

#include <boost/test/unit_test.hpp>

using namespace pathproof::bench;

BOOST_AUTO_TEST_SUITE(listener_probe)

BOOST_AUTO_TEST_CASE(only_sockets_that_joined_conntracks_events_count) {
    const Listeners listeners = parse_netlink_table(
        "sk               Eth Pid        Groups   Rmem     Wmem     Dump  Locks    Drops    Inode\n"
        "0000000000000000 0   0          00000000 0        0        0     2        0        1\n"
        "0000000000000000 12  0          00000000 0        0        0     2        9        2\n"
        "0000000000000000 12  4242       00000007 2304     0        0     2        31       3\n"
        "0000000000000000 12  4243       00000001 16       0        0     2        1        4\n"
        "0000000000000000 12  4244       00000008 999      0        0     2        77       5\n"
        "0000000000000000 15  4245       00000007 999      0        0     2        77       6\n");
    BOOST_TEST(listeners.sockets == 2U);
    BOOST_TEST(listeners.queued_bytes == 2320U);
    BOOST_TEST(listeners.drops == 32U);
}

BOOST_AUTO_TEST_CASE(odd_lines_are_passed_over) {
    BOOST_TEST(parse_netlink_table("").sockets == 0U);
    BOOST_TEST(parse_netlink_table("sk Eth Pid\n12 7\nx y z\n").sockets == 0U);
}

BOOST_AUTO_TEST_CASE(packets_sent_are_those_that_left_and_those_dropped_on_the_way_out) {
    const std::string text =
        "Inter-|   Receive                                                |  Transmit\n"
        " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs "
        "drop fifo colls carrier compressed\n"
        "    lo:       0       0    0    0    0     0          0         0        0       0    0   "
        " "
        "0    0     0       0          0\n"
        "    ds: 1000      10    0    0    0     0          0         0    64000    1000    0   "
        "24    0     0       0          0\n";
    BOOST_TEST(*parse_packets_sent(text, "ds") == 1024U);
    BOOST_TEST(*parse_packets_sent(text, "lo") == 0U);
    BOOST_TEST(!parse_packets_sent(text, "d").has_value());
    BOOST_TEST(!parse_packets_sent("", "ds").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
