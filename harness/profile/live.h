// A live device's account of itself beyond its offload features: its identity, its limits, and the
// versions that it runs with.
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/agent/offload_features.h"
#include "harness/profile/compare.h"
#include "harness/profile/profile.h"

namespace pathproof::profile {

struct LiveDevice {
    std::string name;  // "eth0", or what the EAL calls the port
    DeviceIdentity identity;
    std::string firmware;                  // empty: the driver does not say
    std::vector<agent::Feature> features;  // of a kernel device
    std::vector<std::string> dpdk_tx;      // of a DPDK port
    std::vector<std::string> dpdk_rx;
    LiveLimits limits;
    std::int64_t speed_mbps = -1;  // -1: not known
    Running running;
};

// Asks the kernel of a device in the network namespace of the calling thread: SIOCETHTOOL for
// driver, features and channels, rtnetlink for the largest MTU and super-frame, sysfs for the PCI
// id.
Result<LiveDevice> read_kernel_device(const std::string& name);

// "8086:1592" of a PCI address ("0000:3b:00.0"), from sysfs; empty when it is none or not there.
std::string pci_id(const std::string& address);

// A profile for review, as TOML: what the device offers is required, what decides over checksums
// and segmentation and is not offered is absent. `date` is written into it, as 2026-11-21.
std::string draft(const LiveDevice& device, const std::string& date);

}  // namespace pathproof::profile
