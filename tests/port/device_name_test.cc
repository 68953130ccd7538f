#include "dataplane/port/device_name.h"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "dataplane/port/port_set.h"

namespace pathproof::port {

BOOST_AUTO_TEST_SUITE(device_names)

BOOST_AUTO_TEST_CASE(a_pci_address_is_recognised_however_it_is_written) {
    BOOST_TEST(pci_address("0000:3b:00.0") == "0000:3b:00.0");
    BOOST_TEST(pci_address("3B:00.1,representor=vf0") == "0000:3b:00.1");
    for (const char* other : {"eth0", "net_null0", "3b:00.8", "0000:3b:00", "af_xdp:c0", ""}) {
        BOOST_TEST(pci_address(other) == "", other);
    }
}

BOOST_AUTO_TEST_CASE(eal_gets_devices_by_their_bus) {
    const EalDevices devices = eal_devices(
        {{.name = "a", .device = "0000:3b:00.0,x=1"}, {.name = "b", .device = "net_tap,iface=t0"}});
    BOOST_TEST(devices.pci == std::vector<std::string>{"0000:3b:00.0,x=1"});
    BOOST_TEST(devices.vdevs == std::vector<std::string>{"net_tap1,iface=t0"});
    BOOST_TEST(devices.names == (std::vector<std::string>{"0000:3b:00.0", "net_tap1"}));
}

BOOST_AUTO_TEST_CASE(a_port_name_is_taken_apart) {
    using Kind = PortName::Kind;
    const auto parsed = [](const char* name, bool is_interface = false) {
        return parse_port_name(name, is_interface, 2);
    };
    const PortName interface = parsed("u0", true);
    BOOST_TEST((interface.kind == Kind::kPacketSockets));
    BOOST_TEST(interface.device == af_packet_device("u0") + ",qpairs=2");
    BOOST_TEST(parsed("af_packet:u0").device == interface.device);
    BOOST_TEST(!interface.loads_program);

    const PortName xdp = parsed("af_xdp:u0");
    BOOST_TEST((xdp.kind == Kind::kXdpSockets));
    BOOST_TEST(xdp.title == "u0");
    BOOST_TEST(xdp.device == "net_af_xdp,iface=u0,start_queue=0,queue_count=2");
    BOOST_TEST(xdp.loads_program);
    BOOST_TEST(xdp.touched.front().name == "u0");

    const PortName tap = parsed("net_tap,iface=t0,remote=e0");
    BOOST_TEST((tap.kind == Kind::kVdev));
    BOOST_TEST(tap.title == "net_tap");
    BOOST_TEST(tap.interface == "");  // it makes t0
    BOOST_TEST(parsed("net_af_xdp0,iface=u0").loads_program);

    const PortName bonded = parsed("net_bonding0,slave=0000:3b:00.0");
    const auto pci = std::ranges::find(bonded.touched, true, &PortName::Device::is_pci);
    BOOST_REQUIRE((pci != bonded.touched.end()));
    BOOST_TEST(pci->name == "0000:3b:00.0");

    BOOST_TEST(parsed("3B:00.1,representor=vf0").device == "0000:3b:00.1,representor=vf0");
    BOOST_TEST((parsed("no-such").kind == Kind::kNone));
}

BOOST_AUTO_TEST_CASE(two_names_of_one_device_are_recognised) {
    BOOST_TEST(is_same_device("net_ring0", "net_ring0,x=1"));
    BOOST_TEST(!is_same_device("net_ring,x=1", "net_ring,x=2"));
    BOOST_TEST(is_same_device(af_packet_device("u0"), "net_af_xdp,iface=u0"));
    BOOST_TEST(!is_same_device(af_packet_device("u0"), af_packet_device("u1")));
}

BOOST_AUTO_TEST_CASE(an_af_packet_ports_slots_divide_its_blocks) {
    const std::string device = af_packet_device("u0");
    BOOST_TEST(device.starts_with("net_af_packet,iface=u0,"));
    const auto number = [&](const std::string& key) {
        return std::stoul(device.substr(device.find(key) + key.size()));
    };
    const unsigned long slot = number("framesz=");
    const unsigned long block = number("blocksz=");
    BOOST_TEST(slot % 16 == 0u);
    BOOST_TEST(block % slot == 0u);
    BOOST_TEST(block % 4096 == 0u);
    BOOST_TEST(number("framecnt=") % (block / slot) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace pathproof::port
