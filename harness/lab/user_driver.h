// Kernel drivers that give a PCI device to user space.
#pragma once

#include <cstdint>
#include <string>

#include "dataplane/base/result.h"

namespace pathproof::lab {

enum class UserDriver : std::uint8_t {
    kVfio,         // "vfio-pci": takes an IOMMU, which keeps the device to its own memory
    kVfioNoIommu,  // "vfio-noiommu": the same driver without that protection
    kUioGeneric,   // "uio_pci_generic": without it, too
};
// As a lab file names them; kBadInput names those there are.
Result<UserDriver> parse_user_driver(const std::string& text);
const char* user_driver_name(UserDriver driver);
// "vfio-pci" of both kinds of vfio: of the driver as of its module.
const char* kernel_name(UserDriver driver);

// Its DPDK driver works beside the kernel's (mlx5): nothing is bound.
bool is_shared_driver(const std::string& kernel_driver);

}  // namespace pathproof::lab
