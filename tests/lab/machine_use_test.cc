#include "harness/lab/machine_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(machine_use)

using namespace pathproof;
using namespace pathproof::lab;

namespace {

// As iproute2 6.1 prints it, shortened: eth0 in a bond with the default route, a VLAN on ens1f1, a
// free ens1f0.
const std::string kAddresses = R"([
 {"ifname":"lo","addr_info":[{"family":"inet","local":"127.0.0.1","prefixlen":8,"scope":"host"}]},
 {"ifname":"eth0","master":"bond0","addr_info":[]},
 {"ifname":"bond0","linkinfo":{"info_kind":"bond"},"addr_info":[
   {"family":"inet","local":"192.0.2.10","prefixlen":24,"scope":"global"},
   {"family":"inet6","local":"fe80::1","prefixlen":64,"scope":"link"}]},
 {"ifname":"ens1f0","addr_info":[{"family":"inet","local":"198.18.0.2","prefixlen":24,"scope":"global"},
   {"family":"inet6","local":"fe80::2","prefixlen":64,"scope":"link"}]},
 {"ifname":"ens1f1","addr_info":[]},
 {"ifname":"ens1f1.5","link":"ens1f1","linkinfo":{"info_kind":"vlan"},"addr_info":[
   {"family":"inet","local":"203.0.113.9","prefixlen":24,"scope":"global"}]},
 {"ifname":"veth1","link":"ens1f0","linkinfo":{"info_kind":"veth"},"addr_info":[
   {"family":"inet","local":"203.0.113.77","prefixlen":24,"scope":"global"}]}
])";
const std::string kRoutes = R"([{"dst":"default","gateway":"192.0.2.1","dev":"bond0","flags":[]}])";
const std::string kSessions =
    "0 0 203.0.113.9:22 203.0.113.50:51000\n"
    "0 36 [::ffff:203.0.113.9]:22 [::ffff:203.0.113.51]:51000\n";
const std::string kLinks =
    "lo /sys/devices/virtual/net/lo/device\n"
    "eth0 /sys/devices/pci0000:00/0000:00:03.0/virtio2\n"
    "ens1f0 /sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0\n"
    "ens1f1 /sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.1\n";

MachineUse use() {
    const auto found = parse_use(kAddresses, kRoutes, "", kSessions, kLinks);
    BOOST_REQUIRE_MESSAGE(found, found.error().message);
    return *found;
}

DeviceUse device(const std::string& name) {
    const MachineUse all = use();
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const DeviceUse& one) { return one.name == name; });
    BOOST_REQUIRE(found != all.end());
    return *found;
}

LabFile lab_with_port(TesterPort port) {
    LabFile lab;
    lab.ports = {std::move(port)};
    return lab;
}

LabFile lab_with_device(const std::string& name, std::vector<Prefix> addresses) {
    LabFile lab;
    lab.dut.where = "dut";
    lab.dut.devices = {{.name = name, .port = "p", .addresses = std::move(addresses)}};
    return lab;
}

Prefix prefix(const std::string& text) {
    return parse_prefix(text).value();
}

void refused(const Status& status, const std::string& because) {
    BOOST_REQUIRE(!status);
    BOOST_TEST((status.error().code == ErrorCode::kBadInput));
    BOOST_TEST(status.error().message.find(because) != std::string::npos, status.error().message);
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_a_bond_or_vlan_carries_its_lower_device_carries) {
    BOOST_TEST(device("eth0").default_route);
    BOOST_TEST(device("eth0").pci == "0000:00:03.0");
    BOOST_TEST(device("ens1f1").pci == "0000:3b:00.1");
    BOOST_TEST((device("ens1f1").addresses == std::vector{prefix("203.0.113.9/24")}));
    BOOST_TEST(device("ens1f1").ssh_peers.size() == 2U);
    BOOST_TEST(!device("ens1f0").default_route);
    BOOST_TEST(device("lo").pci == "");
}

BOOST_AUTO_TEST_CASE(the_far_end_of_a_veth_pair_is_no_lower_device) {
    BOOST_TEST((device("ens1f0").addresses == std::vector{prefix("198.18.0.2/24")}));
}

BOOST_AUTO_TEST_CASE(a_port_that_carries_the_default_route_is_refused) {
    refused(check_tester_ports(lab_with_port({.name = "client0", .device = "0000:00:03.0"}), use()),
            "tester port 'client0' (0000:00:03.0) is refused: it carries the default route");
    refused(check_dut_devices(lab_with_device("bond0", {prefix("192.0.2.10/24")}), use()),
            "carries the default route");
}

BOOST_AUTO_TEST_CASE(a_device_that_carries_an_ssh_session_is_refused) {
    refused(check_dut_devices(lab_with_device("ens1f1", {prefix("203.0.113.9/24")}), use()),
            "carries an SSH session with 203.0.113.50:51000");
}

BOOST_AUTO_TEST_CASE(a_device_with_an_address_that_is_not_in_the_file_is_refused) {
    refused(check_dut_devices(lab_with_device("ens1f0", {prefix("198.18.0.3/24")}), use()),
            "has the address 198.18.0.2/24, which is not in the lab file");
    refused(check_tester_ports(lab_with_port({.name = "c",
                                              .kind = TesterPort::Kind::kVdev,
                                              .device = "net_af_packet0,iface=ens1f0"}),
                               use()),
            "198.18.0.2/24");
}

BOOST_AUTO_TEST_CASE(a_free_device_is_accepted) {
    BOOST_TEST(
        check_dut_devices(lab_with_device("ens1f0", {prefix("198.18.0.2/24")}), use()).has_value());
    BOOST_TEST(check_tester_ports(lab_with_port({.name = "c",
                                                 .device = "0000:3b:00.0",
                                                 .addresses = {prefix("198.18.0.2/24")}}),
                                  use())
                   .has_value());
    BOOST_TEST(check_tester_ports(lab_with_port({.name = "c", .device = "0000:5e:00.0"}), use())
                   .has_value());
}

BOOST_AUTO_TEST_CASE(a_device_that_is_not_there_is_not_found) {
    const Status status = check_dut_devices(lab_with_device("ens9", {}), use());
    BOOST_REQUIRE(!status);
    BOOST_TEST((status.error().code == ErrorCode::kNotFound));
    BOOST_TEST(!check_tester_ports(
        lab_with_port(
            {.name = "c", .kind = TesterPort::Kind::kVdev, .device = "net_af_packet0,iface=ens9"}),
        use()));
}

BOOST_AUTO_TEST_CASE(an_ipv6_default_route_and_one_over_several_devices_count_too) {
    const auto over_two = parse_use(
        kAddresses, R"([{"dst":"default","nexthops":[{"dev":"ens1f0"},{"dev":"ens1f1"}]}])",
        R"([{"dst":"default","dev":"bond0"}])", "", kLinks);
    BOOST_REQUIRE(over_two);
    for (const DeviceUse& one : *over_two) {
        BOOST_TEST(one.default_route == (one.name != "lo" && one.name != "veth1"), one.name);
    }
}

BOOST_AUTO_TEST_CASE(answers_that_are_no_lists_are_an_error_not_an_all_clear) {
    BOOST_TEST(!parse_use("", "", "", "", ""));
    BOOST_TEST(!parse_use("sh: ip: not found", "[]", "[]", "", ""));
    BOOST_TEST(!parse_use(kAddresses, "{}", "[]", "", ""));
}

// A device that carries the default route is refused, with every device joined to it in either
// direction.
BOOST_AUTO_TEST_CASE(stacks_are_followed_up_and_down) {
    const auto pair = [](const std::string& lower, const std::string& kind,
                         const std::string& upper, bool as_port) {
        return fmt::format(
            R"([{{"ifname":"{0}"{1},"addr_info":[]}},
                {{"ifname":"{2}"{3},"linkinfo":{{"info_kind":"{4}"}},"addr_info":[]}},
                {{"ifname":"other","addr_info":[]}}])",
            lower, as_port ? fmt::format(R"(,"master":"{}")", upper) : "", upper,
            as_port ? "" : fmt::format(R"(,"link":"{}")", lower), kind);
    };
    for (const auto& [kind, as_port] : {std::pair{"bridge", true},
                                        {"bond", true},
                                        {"team", true},
                                        {"vrf", true},
                                        {"vlan", false},
                                        {"macvlan", false},
                                        {"macvtap", false},
                                        {"ipvlan", false},
                                        {"vxlan", false},
                                        {"geneve", false},
                                        {"macsec", false}}) {
        for (const std::string through : {"low0", "up0"}) {
            const std::string route = fmt::format(R"([{{"dst":"default","dev":"{}"}}])", through);
            for (const bool six : {false, true}) {
                const auto found = parse_use(pair("low0", kind, "up0", as_port), six ? "" : route,
                                             six ? route : "", "", "");
                BOOST_REQUIRE(found);
                for (const DeviceUse& one : *found) {
                    BOOST_TEST(objections(one, nullptr).empty() == (one.name == "other"),
                               kind << " " << through << " " << one.name);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_device_that_a_mounted_file_system_is_reached_over_is_refused) {
    const auto found =
        parse_use(kAddresses, "[]", "[]", "", kLinks,
                  R"([{"dst":"192.0.2.77","dev":"bond0","prefsrc":"192.0.2.10","flags":[]}])"
                  "\n[{\"dst\":\"198.18.0.9\",\"dev\":\"ens1f0\"}]\nno answer\n");
    BOOST_REQUIRE(found);
    for (const DeviceUse& one : *found) {
        const bool carries = one.name == "bond0" || one.name == "eth0" || one.name == "ens1f0";
        BOOST_TEST(one.storage_peers.empty() == !carries, one.name);
        BOOST_TEST(objections(one, nullptr).empty() ==
                       (one.name == "ens1f1.5" || one.name == "ens1f1" || one.name == "veth1"),
                   one.name);
    }
    refused(check_tester_ports(lab_with_port({.name = "c",
                                              .device = "0000:3b:00.0",
                                              .addresses = {prefix("198.18.0.2/24")}}),
                               *found),
            "carries a file system or disk that 198.18.0.9 serves");
}

BOOST_AUTO_TEST_CASE(without_a_plan_the_networks_that_are_set_apart_for_tests_are_allowed) {
    const auto allowed = [](const std::string& text) {
        const auto slash = text.find('/');
        return objections(
                   {.name = "d",
                    .addresses = {{*frame::parse_ip(text.substr(0, slash)),
                                   static_cast<unsigned>(std::stoul(text.substr(slash + 1)))}}},
                   nullptr)
            .empty();
    };
    for (const char* test :
         {"198.18.0.1/24", "198.19.255.254/16", "192.0.2.1/24", "198.51.100.7/32", "203.0.113.9/24",
          "2001:db8:1::1/64", "2001:2::1/64"}) {
        BOOST_TEST(allowed(test), test);
    }
    for (const char* other :
         {"198.17.255.255/16", "198.20.0.1/24", "192.0.3.1/24", "10.0.0.1/8", "192.168.7.2/24",
          "127.0.0.1/8", "2001:db9::1/64", "2001:2:1::1/64", "fd00::1/64", "::1/128"}) {
        BOOST_TEST(!allowed(other), other);
    }
}

BOOST_AUTO_TEST_SUITE_END()
