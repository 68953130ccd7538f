// Reads the link and the NUMA node of a PCI device from sysfs.
#pragma once

#include <optional>
#include <string>

#include "harness/message/fields.h"

namespace pathproof::agent {

// LnkSta and LnkCap (PCI Express Base Specification, 7.5.3.6 and 7.5.3.8).
struct PcieSpeed {
    double gt_s = 0;     // of a lane; 0: not told
    unsigned lanes = 0;  // 0: not told
    // Bits of data a second, in 10^9: less the line code and nothing else.
    double gbit_s() const;
    bool operator==(const PcieSpeed&) const = default;
};
FIELDS(PcieSpeed, gt_s, lanes)
std::string to_string(const PcieSpeed& speed);  // "8 GT/s x4"

struct PcieLink {
    PcieSpeed linked;
    PcieSpeed device;  // what it can
    PcieSpeed slot;    // what the port above it can
    bool operator==(const PcieLink&) const = default;
};
FIELDS(PcieLink, linked, device, slot)

// Reads a device's folder ("/sys/bus/pci/devices/0000:3b:00.0"). Nothing: it has no PCI Express
// link, as emulated devices.
std::optional<PcieLink> read_pcie_link(const std::string& folder);
// -1: it has none, or none is told.
int read_numa_node(const std::string& folder);

}  // namespace pathproof::agent
