// How a NIC is set, and what its driver and its module tell: what `ethtool -g -l -c -a -x -m -T
// --show-fec --show-tunnels` print, asked by ethtool's netlink (Documentation/networking/ethtool-netlink.rst
// of the kernel), and the CPUs of its interrupts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/verdict/result.h"

namespace pathproof::fingerprint {

// Of a device of the calling thread's namespace. What its driver or this kernel does not tell is absent,
// what needs a right that we have not is denied. Without serial numbers.
std::vector<verdict::Fact> read_nic(const std::string& device);

// The lower half of page 0 and the first half of what follows, of a plugged module: SFF-8472 (SFP),
// SFF-8636 (QSFP), CMIS. Empty: of a kind that is not known, or too short.
std::string module_text(std::span<const std::uint8_t> eeprom);
// Its vendor's serial number, likewise.
std::string module_serial(std::span<const std::uint8_t> eeprom);
verdict::Fact read_module_serial(const std::string& device);

}  // namespace pathproof::fingerprint
