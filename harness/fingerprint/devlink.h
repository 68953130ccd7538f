// devlink's account of a device: its board and the parts of its firmware
// (Documentation/networking/devlink/devlink-info.rst of the kernel).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/verdict/certificate.h"

namespace pathproof::fingerprint {

struct DevlinkInfo {
    int error = 0;  // errno; EOPNOTSUPP: the kernel or the driver has no devlink
    std::string serial_number;
    // Fixed versions: "board.id", "board.rev", "asic.id".
    std::vector<std::pair<std::string, std::string>> fixed;
    std::vector<verdict::FirmwareComponent> firmware;
};

// `bus` and `device`: "pci", "0000:3b:00.0".
DevlinkInfo read_devlink(const std::string& bus, const std::string& device);

}  // namespace pathproof::fingerprint
