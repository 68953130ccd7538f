#define BOOST_TEST_MODULE ports
#include "harness/ports/choose.h"

#include <boost/test/unit_test.hpp>

#include "dataplane/port/device_name.h"
#include "tests/contains.h"

namespace pathproof::ports {

using test::contains;

BOOST_AUTO_TEST_CASE(ports_are_chosen_by_their_usual_names) {
    const auto vdev = choose_port("net_ring3", "");
    BOOST_REQUIRE(vdev);
    BOOST_TEST(vdev->name == "net_ring3");
    BOOST_TEST(vdev->device == "net_ring3");
    const auto pci = choose_port("0000:fe:00.0", "");
    BOOST_REQUIRE(pci);
    BOOST_TEST(pci->device == "0000:fe:00.0");
    const auto short_pci = choose_port("FE:00.0,representor=vf0", "");
    BOOST_REQUIRE(short_pci);
    BOOST_TEST(short_pci->name == "FE:00.0,representor=vf0");
    BOOST_TEST(short_pci->device == "0000:fe:00.0,representor=vf0");
    BOOST_TEST(port::is_same_device(pci->device, short_pci->device));
    BOOST_TEST(!port::is_same_device(vdev->device, pci->device));
    const auto none = choose_port("pp-no-such0", "");
    BOOST_REQUIRE(!none);
    BOOST_TEST((none.error().code == ErrorCode::kNotFound));
    BOOST_TEST(!choose_port("net_af_packet,iface=pp-no-such0", ""));
}

BOOST_AUTO_TEST_CASE(an_interface_that_the_machine_may_be_reached_through_is_refused) {
    // lo has 127.0.0.1 wherever this runs.
    const auto refused = choose_port("lo", "");
    BOOST_REQUIRE(!refused);
    BOOST_TEST((refused.error().code == ErrorCode::kBadInput));
    BOOST_TEST(contains(refused.error().message, "lo has the address 127.0.0.1/8"));
    BOOST_TEST(!choose_port("net_af_packet0,iface=lo", ""));
}

BOOST_AUTO_TEST_CASE(a_device_that_is_named_twice_is_refused_with_the_reason) {
    const auto twice = choose_ports({{.name = "0000:fe:00.0"}, {.name = "FE:00.0"}}, "", "one end");
    BOOST_REQUIRE(!twice);
    BOOST_TEST(twice.error().message == "port 'FE:00.0' is named twice; one end");
    const auto two =
        choose_ports({{.name = "net_ring3", .queues = 2, .tx_offloads = 6}, {.name = "net_ring4"}},
                     "", "one end");
    BOOST_REQUIRE(two);
    BOOST_TEST(two->front().queues == 2u);
    BOOST_TEST(two->front().tx_offloads == 6u);
    BOOST_TEST(two->back().name == "net_ring4");
}

}  // namespace pathproof::ports
