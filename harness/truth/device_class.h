// What a truth table of a device is evidence of: hardware, the software path of virtual devices, or
// a stand-in.
#pragma once

#include <string>

#include "dataplane/port/port.h"
#include "harness/agent/client.h"

namespace pathproof::truth {

// Of a device of the kernel. Physical: on a PCI or USB bus with a driver of hardware, and not
// emulated by a hypervisor.
port::Evidence class_of_device(const agent::DeviceInfo& info);

// Of two cabled DPDK ports: the weaker of the two.
port::Evidence class_of_ports(port::Evidence device, port::Evidence far);

// What a run of this class may and may not say; `device` in words ("eth3 (ixgbe)").
std::string evidence_note(port::Evidence evidence, const std::string& device);

}  // namespace pathproof::truth
