#include "harness/lab/link_changes.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "harness/lab/plan.h"

BOOST_AUTO_TEST_SUITE(link_changes)

using namespace pathproof;
using namespace pathproof::lab;
using agent::HostChange;

BOOST_AUTO_TEST_CASE(each_command_of_a_plan_has_the_one_that_undoes_it) {
    const auto changes = as_changes(
        "link add name vx mtu 1450 type vxlan id 42\n"
        "link set vx up\n"
        "address add 198.18.0.1/30 dev vx\n"
        "neigh replace 198.18.0.2 lladdr 02:00:00:00:00:02 nud permanent dev vx\n"
        "route replace 198.18.20.0/24 via 198.18.0.2 dev vx\n",
        "d0");
    const std::vector<std::string> undone{
        "link delete dev vx", "link set dev vx down", "address delete 198.18.0.1/30 dev vx",
        "neigh delete 198.18.0.2 dev vx", "route delete 198.18.20.0/24 via 198.18.0.2 dev vx"};
    BOOST_REQUIRE(changes.size() == undone.size());
    for (std::size_t i = 0; i < undone.size(); ++i) {
        BOOST_TEST(changes[i].undo == undone[i]);
        BOOST_TEST((changes[i].kind == HostChange::Kind::kIp));
        // Each change names its own link, so that undoing it counts as done once that link is gone.
        BOOST_TEST(changes[i].device == (i == 0 ? "d0" : "vx"));
    }
    BOOST_TEST((changes[2].allowed == HostChange::Allowed::kIsThere));
}

BOOST_AUTO_TEST_CASE(a_plan_of_a_node_becomes_changes_without_a_rest) {
    const OverlayNames names = overlay_names("1a2b");
    const Topology topology = overlay_topology(names);
    for (const std::string& commands :
         {link_command_inside(topology.links_of(names.pod_a)[0]),
          topology.host(HostRole::kNodeA).commands, topology.host(HostRole::kPodA).commands,
          overlay_tunnel(names, true)[0].changes[0].value}) {
        const auto lines = std::ranges::count(commands, '\n');
        const auto changes = as_changes(commands, "eth0");
        BOOST_TEST(changes.size() == static_cast<std::size_t>(lines), commands);
        for (const HostChange& change : changes) {
            BOOST_TEST(!change.undo.empty(), change.value);
            BOOST_TEST(!change.device.empty(), change.value);
        }
    }
}

BOOST_AUTO_TEST_CASE(an_address_of_ipv6_can_be_used_at_once) {
    BOOST_TEST(address_change("d0", "2001:db8::1/64").value ==
               "address add 2001:db8::1/64 dev d0 nodad");
    BOOST_TEST(address_change("d0", "198.18.0.1/24").value == "address add 198.18.0.1/24 dev d0");
    BOOST_TEST(address_change("d0", "2001:db8::1/64").undo ==
               "address delete 2001:db8::1/64 dev d0");
}

BOOST_AUTO_TEST_SUITE_END()
