// Decision whether a truth table may speak of hardware.
#include "harness/truth/device_class.h"

#include <boost/test/unit_test.hpp>

using namespace pathproof;
using namespace pathproof::truth;
using port::Evidence;

namespace {

agent::DeviceInfo device(const char* driver, const char* bus, const char* subsystem = nullptr) {
    agent::DeviceInfo info;
    info.driver = driver;
    info.bus = bus;
    if (subsystem != nullptr) {
        info.pci = agent::PciIds{"0x8086", "0x100e", subsystem, "0x0001"};
    }
    return info;
}

bool is(Evidence seen, Evidence expected) {
    return seen == expected;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(device_class, *boost::unit_test::label("unit"))

BOOST_AUTO_TEST_CASE(only_a_driver_of_hardware_on_a_bus_is_physical) {
    const auto seen = [&](const auto&... what) { return class_of_device(device(what...)); };
    BOOST_TEST(is(seen("ixgbe", "0000:3b:00.0", "0x8086"), Evidence::kPhysical));
    BOOST_TEST(is(seen("r8152", "usb-0000:00:14.0-1"), Evidence::kPhysical));
    BOOST_TEST(is(seen("e1000", "0000:00:03.0", "0x1af4"), Evidence::kVirtual));
    // QEMU's e1000e has no subsystem device, nor have some boards with other NICs.
    agent::DeviceInfo e1000e = device("e1000e", "0000:00:03.0", "0x8086");
    e1000e.pci->subsystem_device = "0x0000";
    BOOST_TEST(is(class_of_device(e1000e), Evidence::kPhysical));
    e1000e.pci->device = "0x10d3";
    BOOST_TEST(is(class_of_device(e1000e), Evidence::kVirtual));
    BOOST_TEST(is(seen("ixgbe", "0000:99:00.0"), Evidence::kVirtual));
    BOOST_TEST(is(seen("veth", ""), Evidence::kVirtual));
    BOOST_TEST(is(seen("tun", "tap"), Evidence::kVirtual));
    for (const char* driver : {"virtio_net", "vmxnet3", "hv_netvsc"}) {
        BOOST_TEST(is(seen(driver, "0000:3b:00.0", "0x8086"), Evidence::kVirtual), driver);
    }
}

BOOST_AUTO_TEST_CASE(two_ports_are_as_good_as_the_weaker_one) {
    BOOST_TEST(is(class_of_ports(Evidence::kPhysical, Evidence::kPhysical), Evidence::kPhysical));
    BOOST_TEST(is(class_of_ports(Evidence::kPhysical, Evidence::kVirtual), Evidence::kVirtual));
    BOOST_TEST(is(class_of_ports(Evidence::kVirtual, Evidence::kSimulated), Evidence::kSimulated));
    BOOST_TEST(is(class_of_ports(Evidence::kSimulated, Evidence::kPhysical), Evidence::kSimulated));
}

BOOST_AUTO_TEST_CASE(only_physical_evidence_is_called_hardware) {
    BOOST_TEST(evidence_note(Evidence::kPhysical, "eth3").find("is hardware") != std::string::npos);
    BOOST_TEST(evidence_note(Evidence::kVirtual, "eth3").find("nothing of any hardware") !=
               std::string::npos);
    BOOST_TEST(evidence_note(Evidence::kSimulated, "eth3").find("nothing of any NIC") !=
               std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
