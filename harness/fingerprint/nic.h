// Settings of a NIC, and what its driver and its module report: the output of `ethtool -g -l -c -a -x -m -T
// --show-fec --show-tunnels`, read through ethtool's netlink (Documentation/networking/ethtool-netlink.rst
// of the kernel), and the CPUs of its interrupts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/message/fields.h"
#include "harness/verdict/result.h"

namespace pathproof::fingerprint {

// Reads a device of the calling thread's namespace. Facts that its driver or this kernel does not give
// are absent, those that need a right that we have not are denied. Without serial numbers.
std::vector<verdict::Fact> read_nic(const std::string& device);

enum class Serials : std::uint8_t { kLeftOut, kAsked };
ENUM_VALUES(Serials, 2)

// The plugged module or cable: kind, maker, part number, revision, cable length. Nothing is plugged, or
// the driver tells nothing of it: empty.
std::vector<verdict::Fact> read_module_facts(const std::string& device, Serials serials);
// Readings of the module (optics.h) and counts of forward error correction, as of now.
std::vector<verdict::Reading> read_link_readings(const std::string& device);
verdict::Fact read_module_serial(const std::string& device);

}  // namespace pathproof::fingerprint
