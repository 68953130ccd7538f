// How a NIC is set, and what its driver and its module tell: what `ethtool -g -l -c -a -x -m -T
// --show-fec --show-tunnels` print, asked by ethtool's netlink (Documentation/networking/ethtool-netlink.rst
// of the kernel), and the CPUs of its interrupts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/message/fields.h"
#include "harness/verdict/result.h"

namespace pathproof::fingerprint {

// Of a device of the calling thread's namespace. What its driver or this kernel does not tell is absent,
// what needs a right that we have not is denied. Without serial numbers.
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
