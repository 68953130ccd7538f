// Checks whether this machine would hand a PCI device to DPDK, before the EAL is started: the EAL's
// own errors for a device that is not bound, or for want of hugepages, suggest no cure.
#pragma once

#include <string>

#include "dataplane/base/result.h"

namespace pathproof::port {

// Folders in which the kernel shows devices and pages.
struct SystemFolders {
    std::string sys = "/sys";
    std::string dev = "/dev";
};

// Errors, each with what cures it: no such device; no network device; bound to a driver that DPDK
// cannot take over; vfio not loaded or without an IOMMU; no free hugepage. The command that gives a
// device over is told of network devices only, and not of one whose interface cannot be looked at.
// Whether the machine can spare that interface, the caller has asked before.
// `address`: "0000:3b:00.0".
Status pci_ready(const std::string& address, const SystemFolders& folders = {});

}  // namespace pathproof::port
