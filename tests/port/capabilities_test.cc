// Requests to a device, and refusals, by the capabilities that it reports: devices of the test's
// own making.
#define BOOST_TEST_MODULE port
#include <rte_ethdev.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "dataplane/port/extended_counters.h"
#include "dataplane/port/link_speed.h"
#include "dataplane/port/numa.h"
#include "dataplane/port/rate_limit.h"
#include "dataplane/port/rss.h"
#include "tests/contains.h"
#include "tests/port/eal_fixture.h"
#include "tests/port/ring_ports.h"

BOOST_AUTO_TEST_SUITE(capabilities_of_a_port)

using namespace pathproof;
using namespace pathproof::port;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kUdp = RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_NONFRAG_IPV6_UDP;

rte_eth_dev_info device(const char* driver, std::uint64_t rss) {
    rte_eth_dev_info info{};
    info.driver_name = driver;
    info.flow_type_rss_offloads = rss;
    info.hash_key_size = 40;
    return info;
}

PortConfig queues(std::uint16_t count) {
    return {.name = "p", .device = "0000:3b:00.0", .rx_queues = count};
}

using pathproof::test::contains;

}  // namespace

BOOST_AUTO_TEST_CASE(rss_takes_what_the_device_offers_and_no_more) {
    const std::uint64_t offered = kUdp | RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_SCTP;
    const auto rss = choose_rss(queues(4), device("net_ice", offered));
    BOOST_REQUIRE(rss);
    BOOST_TEST(rss->hash_functions == (kUdp | RTE_ETH_RSS_IPV4));
    BOOST_REQUIRE(rss->key.size() == 40u);
    BOOST_TEST(rss->key[0] == 0x6d);
    BOOST_TEST(rss->key[39] == 0x5a);
}

BOOST_AUTO_TEST_CASE(one_queue_needs_no_rss) {
    const auto rss = choose_rss(queues(1), device("net_unheard_of", 0));
    BOOST_REQUIRE(rss);
    BOOST_TEST(rss->hash_functions == 0u);
    BOOST_TEST(rss->key.empty());
}

BOOST_AUTO_TEST_CASE(several_queues_without_rss_are_refused_unless_the_driver_spreads_itself) {
    const auto refused = choose_rss(queues(2), device("net_e1000_em", 0));
    BOOST_REQUIRE(!refused);
    BOOST_TEST((refused.error().code == ErrorCode::kNotSupported));
    BOOST_TEST(contains(refused.error().message, "net_e1000_em"));
    BOOST_TEST(contains(refused.error().message, "2 receive queues"));
    // A device that hashes only what we do not send spreads nothing of it.
    BOOST_TEST(!choose_rss(queues(2), device("net_e1000_em", RTE_ETH_RSS_SCTP)));
    const auto fanout = choose_rss(queues(2), device("net_af_packet", 0));
    BOOST_REQUIRE(fanout);
    BOOST_TEST(fanout->hash_functions == 0u);
}

BOOST_AUTO_TEST_CASE(outer_headers_are_asked_for_where_inner_ones_could_be_hashed_too) {
    const auto rss = choose_rss(queues(2), device("mlx5_pci", kUdp | RTE_ETH_RSS_LEVEL_INNERMOST |
                                                                  RTE_ETH_RSS_LEVEL_OUTERMOST));
    BOOST_REQUIRE(rss);
    BOOST_TEST(rss->hash_functions == (kUdp | RTE_ETH_RSS_LEVEL_OUTERMOST));
}

BOOST_AUTO_TEST_CASE(cpus_on_another_node_than_the_port_are_named) {
    const PortInfo port{.name = "p0", .numa_node = 1};
    const std::vector<PlacedCpu> cpus = {{0, 0}, {3, 1}, {5, 0}, {7, -1}};
    const std::string said = far_cpus(port, cpus);
    BOOST_TEST(contains(said, "CPU 0 on node 0, CPU 5 on node 0;"));
    BOOST_TEST(contains(said, "port p0 is on NUMA node 1"));
    BOOST_TEST(far_cpus(port, std::vector<PlacedCpu>{{3, 1}}).empty());
    BOOST_TEST(far_cpus(PortInfo{.name = "vdev"}, cpus).empty());
}

BOOST_AUTO_TEST_CASE(the_kernel_says_on_which_node_a_cpu_is) {
    const std::vector<int> first = {0, 4000};
    const auto placed = place(first);
    BOOST_REQUIRE(placed.size() == 2u);
    const bool known = std::filesystem::exists("/sys/devices/system/cpu/cpu0/node0");
    BOOST_TEST(placed[0].node == (known ? 0 : -1));
    BOOST_TEST(placed[1].node == -1);
}

BOOST_AUTO_TEST_CASE(only_counters_that_grew_are_told) {
    const std::vector<NamedCounter> before = {{"a", 5}, {"b", 7}, {"c", 9}};
    const std::vector<NamedCounter> after = {{"a", 5}, {"b", 8}, {"c", 2}, {"d", 3}};
    BOOST_TEST((growth(before, after) == std::vector<NamedCounter>{{"b", 1}, {"d", 3}}));
}

BOOST_AUTO_TEST_CASE(a_ports_own_counters_are_read_by_name) {
    RingPort ring = RingPort::make("xcount");
    const auto before = extended_counters(ring.port);
    ring.end.arrive(std::vector<std::uint8_t>(60, 0));
    rte_mbuf* frame = nullptr;
    BOOST_REQUIRE(ring.port.rx_burst(0, &frame, 1) == 1);
    BOOST_REQUIRE(ring.port.tx_burst(0, &frame, 1) == 1);
    const auto grown = growth(before, extended_counters(ring.port));
    BOOST_TEST(std::ranges::count(grown, NamedCounter{"rx_good_packets", 1}) == 1);
    BOOST_TEST(std::ranges::count(grown, NamedCounter{"tx_good_packets", 1}) == 1);
}

BOOST_AUTO_TEST_CASE(a_driver_without_rate_limit_says_so) {
    RingPort ring = RingPort::make("norate");
    const Status rate = limit_rate(ring.port, 0, 100);
    BOOST_REQUIRE(!rate);
    BOOST_TEST((rate.error().code == ErrorCode::kNotSupported));
    BOOST_TEST(contains(rate.error().message, "net_ring has no rate limit"));
    BOOST_TEST(contains(limit_rate(ring.port, 1, 100).error().message, "no transmit queue 1"));
    BOOST_TEST(contains(limit_rate(ring.port, 0, 70'000).error().message, "70000 Mbit/s"));
}

BOOST_AUTO_TEST_CASE(a_ring_spreads_over_its_queues_and_has_no_link_to_wait_for) {
    RingPort ring = RingPort::make("spread", 256, 2);
    BOOST_TEST(ring.port.info().link_mbps == 0u);
    BOOST_TEST(wait_for_link(ring.port.id(), 0ms));
    rte_eth_dev_set_link_down(ring.port.id());
    BOOST_TEST(!wait_for_link(ring.port.id(), 60ms));
    BOOST_TEST((ring.port.link() == Link::kDown));
    BOOST_TEST(contains(ring.port.link_trouble(), "link is down"));
    BOOST_TEST(!is_removed(ring.port.id(), "net_ring_spread"));
    BOOST_TEST(is_removed(ring.port.id(), "ffff:ff:1f.7"));  // on no bus
}

BOOST_AUTO_TEST_SUITE_END()
