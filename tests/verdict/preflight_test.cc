#include "harness/verdict/preflight.h"

#include <boost/test/unit_test.hpp>

#include "tests/contains.h"

using namespace pathproof::verdict;
using pathproof::test::contains;

BOOST_AUTO_TEST_SUITE(preflight_drawing)

BOOST_AUTO_TEST_CASE(hosts_ports_addresses_and_proofs_are_drawn) {
    Preflight looked;
    looked.ports = {
        {.host = "tester", .name = "client0", .device = "0000:3b:00.0", .driver = "net_ice"},
        {.host = "DUT root@<dut1>",
         .name = "ens1f0",
         .device = "ens1f0",
         .addresses = {"198.18.0.1/24"},
         .link_mbps = 25'000,
         .mtu = 1500}};
    looked.cables = {
        {.port = "client0", .device = "ens1f0", .proof = Preflight::Cable::Proof::kOneWay}};
    const std::string svg = topology_svg(looked);
    BOOST_TEST(contains(svg, "client0 (0000:3b:00.0)"));
    BOOST_TEST(contains(svg, "25 Gbit/s, MTU 1500"));
    BOOST_TEST(contains(svg, "198.18.0.1/24"));
    BOOST_TEST(contains(svg, "frames one way"));
    BOOST_TEST(contains(svg, "class=\"half\""));
    BOOST_TEST(contains(svg, "root@&lt;dut1&gt;"));
    BOOST_TEST(!contains(svg, "<script"));
}

BOOST_AUTO_TEST_CASE(nothing_is_drawn_of_one_host) {
    BOOST_TEST(topology_svg(Preflight{}).empty());
}

BOOST_AUTO_TEST_SUITE_END()
