// A network device as its host describes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/frame/address.h"
#include "harness/agent/pcie.h"
#include "harness/message/fields.h"

namespace pathproof::agent {

// PCI ids of a device, as sysfs has them: "0x8086".
struct PciIds {
    std::string vendor;
    std::string device;
    std::string subsystem_vendor;
    std::string subsystem_device;
    bool operator==(const PciIds&) const = default;
};
FIELDS(PciIds, vendor, device, subsystem_vendor, subsystem_device)

struct DeviceInfo {
    std::string name;
    std::string driver;
    std::string driver_version;
    std::string firmware;
    std::string bus;
    std::string srcversion;  // of the driver's module; empty: it has none, or is built in
    std::optional<PciIds> pci = std::nullopt;
    std::optional<PcieLink> pcie = std::nullopt;
    int numa_node = -1;
    frame::MacAddress mac;
    std::uint32_t mtu = 0;
    bool link_up = false;
    std::int64_t speed_mbps = -1;                                   // -1: the driver does not say
    std::vector<std::pair<std::string, std::uint64_t>> statistics;  // ethtool -S
};
FIELDS(DeviceInfo, name, driver, driver_version, firmware, bus, srcversion, pci, pcie, numa_node,
       mac, mtu, link_up, speed_mbps, statistics)

}  // namespace pathproof::agent
