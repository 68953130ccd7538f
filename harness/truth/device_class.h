// The evidence class of a device's truth table: hardware, the software path of virtual devices, or
// a stand-in.
#pragma once

#include <string>

#include "dataplane/port/port.h"
#include "harness/agent/device_info.h"

namespace pathproof::truth {

// A kernel device is physical on a PCI or USB bus with a driver of hardware, unless a hypervisor
// emulates it.
port::Evidence class_of_device(const agent::DeviceInfo& info);

// Two cabled DPDK ports have the class of the weaker one.
port::Evidence class_of_ports(port::Evidence device, port::Evidence far);

// Says what a run of this class shows and what it does not; `device` in words ("eth3 (ixgbe)").
std::string evidence_note(port::Evidence evidence, const std::string& device);

}  // namespace pathproof::truth
