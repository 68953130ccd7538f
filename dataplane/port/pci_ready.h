// Whether this machine would hand a PCI device to DPDK, asked before the EAL is: its own words for
// a device that is not bound, or for want of hugepages, tell nobody what to do.
#pragma once

#include <string>

#include "dataplane/base/result.h"

namespace pathproof::port {

// Where the kernel shows devices and pages.
struct SystemFolders {
    std::string sys = "/sys";
    std::string dev = "/dev";
};

// Errors, each with the command that cures it: no such device; bound to a driver that DPDK cannot
// take over; vfio not loaded or without an IOMMU; no free hugepage.
Status pci_ready(const std::string& address, const SystemFolders& folders = {});

}  // namespace pathproof::port
