#include <boost/test/unit_test.hpp>

#include "dataplane/base/counts.h"
#include "dataplane/port/port.h"

using namespace pathproof;
using namespace pathproof::port;

namespace {

// Each member differs, and none is a sum of two others.
constexpr PortCounters kBefore{.rx_packets = 1,
                               .tx_packets = 2,
                               .rx_missed = 4,
                               .rx_no_mbuf = 8,
                               .rx_errors = 16,
                               .tx_errors = 32,
                               .tx_by_interface = 128};
constexpr PortCounters kGrown{.rx_packets = 700,
                              .tx_packets = 600,
                              .rx_missed = 500,
                              .rx_no_mbuf = 400,
                              .rx_errors = 300,
                              .tx_errors = 200,
                              .tx_by_interface = 50};
constexpr PortCounters kAfter{.rx_packets = 701,
                              .tx_packets = 602,
                              .rx_missed = 504,
                              .rx_no_mbuf = 408,
                              .rx_errors = 316,
                              .tx_errors = 232,
                              .tx_by_interface = 178};

void check_equal(const PortCounters& left, const PortCounters& right) {
    BOOST_TEST(left.rx_packets == right.rx_packets);
    BOOST_TEST(left.tx_packets == right.tx_packets);
    BOOST_TEST(left.rx_missed == right.rx_missed);
    BOOST_TEST(left.rx_no_mbuf == right.rx_no_mbuf);
    BOOST_TEST(left.rx_errors == right.rx_errors);
    BOOST_TEST(left.tx_errors == right.tx_errors);
    BOOST_TEST(left.tx_by_interface == right.tx_by_interface);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(counters)

BOOST_AUTO_TEST_CASE(a_difference_holds_what_each_counter_grew_by) {
    check_equal(counts_between(kBefore, kAfter), kGrown);
}

BOOST_AUTO_TEST_CASE(a_sum_holds_what_all_ports_counted) {
    PortCounters sum = kBefore;
    add_counts(sum, PortCounters{});
    check_equal(sum, kBefore);
    add_counts(sum, kGrown);
    check_equal(sum, kAfter);
}

BOOST_AUTO_TEST_SUITE_END()
