#include "dataplane/port/pci_ready.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "dataplane/base/file.h"
#include "dataplane/base/number.h"

namespace pathproof::port {
namespace {

namespace fs = std::filesystem;

// Drivers under which a device needs no binding any more: the first three work beside their DPDK
// drivers (DPDK Linux guide, "Bifurcated Driver"), the others hand a device to whoever opens it.
constexpr std::array<std::string_view, 5> kReady = {"mlx4_core", "mlx5_core", "mana",
                                                    "uio_pci_generic", "igb_uio"};

Status check_vfio(const std::string& address, const fs::path& device,
                  const SystemFolders& folders) {
    std::error_code none;
    const fs::path group = fs::read_symlink(device / "iommu_group", none).filename();
    if (group.empty()) {
        return fail(ErrorCode::kNotSupported,
                    "PCI device {} has no IOMMU group: boot with intel_iommu=on or amd_iommu=on, "
                    "or, on a machine that trusts the device with all of its memory, write 1 to "
                    "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode and bind it again",
                    address);
    }
    const fs::path vfio = fs::path(folders.dev) / "vfio";
    if (!fs::exists(vfio / group) && !fs::exists(vfio / ("noiommu-" + group.string()))) {
        return fail(ErrorCode::kNotSupported,
                    "PCI device {}: {} is not there, because another device of IOMMU group {} is "
                    "still bound to a kernel driver; bind or unbind all of the group "
                    "(/sys/kernel/iommu_groups/{}/devices)",
                    address, (vfio / group).string(), group.string(), group.string());
    }
    return {};
}

// The base class of network controllers (PCI Code and ID Assignment Specification, 1.3).
Status check_class(const std::string& address, const fs::path& device) {
    const std::string code = first_word(device / "class");
    if (code.starts_with("0x02")) {
        return {};
    }
    return fail(ErrorCode::kBadInput,
                "PCI device {} is no network device (its class is {}); 'dpdk-devbind.py "
                "--status-dev net' lists those that are",
                address, code.empty() ? "unknown" : code);
}

// Returns whether this network namespace shows an interface of the device itself, or of one on its
// bus (virtio1/net/eth0).
bool shows_an_interface(const fs::path& device) {
    std::error_code none;
    bool shown = !fs::is_empty(device / "net", none) && !none;
    for (const fs::directory_entry& below : fs::directory_iterator(device, none)) {
        std::error_code no_folder;
        shown |= below.is_directory(no_folder) && !below.is_symlink(no_folder) &&
                 !fs::is_empty(below.path() / "net", no_folder) && !no_folder;
    }
    return shown;
}

Status check_driver(const std::string& address, const fs::path& device,
                    const SystemFolders& folders) {
    std::error_code none;
    const std::string driver = fs::read_symlink(device / "driver", none).filename().string();
    if (driver == "vfio-pci") {
        return check_vfio(address, device, folders);
    }
    if (std::ranges::find(kReady, driver) != kReady.end()) {
        return {};
    }
    if (!driver.empty() && !shows_an_interface(device)) {
        return fail(ErrorCode::kNotSupported,
                    "PCI device {} is bound to the kernel's driver {} and has no network interface "
                    "in this network namespace: what it is used for cannot be seen from here. Take "
                    "it out of use where that is, first",
                    address, driver);
    }
    return fail(ErrorCode::kNotSupported,
                "PCI device {} is bound to {}: DPDK cannot have it; 'pathproof lab bind {}' gives "
                "it over (its kernel "
                "interface goes away until 'pathproof lab down' gives it back)",
                address, driver.empty() ? "no driver" : "the kernel's driver " + driver, address);
}

Status check_hugepages(const std::string& address, const SystemFolders& folders) {
    std::error_code none;
    const fs::path sizes = fs::path(folders.sys) / "kernel/mm/hugepages";
    for (const fs::directory_entry& size : fs::directory_iterator(sizes, none)) {
        const auto free = whole_number<std::uint64_t>(first_word(size.path() / "free_hugepages"));
        if (free.value_or(0) > 0) {
            return {};
        }
    }
    return fail(ErrorCode::kNotSupported,
                "PCI device {} needs hugepages and none is free; 'sysctl vm.nr_hugepages=512' "
                "reserves 1 GiB of them",
                address);
}

}  // namespace

Status pci_ready(const std::string& address, const SystemFolders& folders) {
    const fs::path device = fs::path(folders.sys) / "bus/pci/devices" / address;
    if (!fs::exists(device)) {
        return fail(ErrorCode::kNotFound,
                    "this machine has no PCI device {}; 'dpdk-devbind.py --status-dev net' lists "
                    "its NICs",
                    address);
    }
    TRY(check_class(address, device));
    TRY(check_driver(address, device, folders));
    return check_hugepages(address, folders);
}

}  // namespace pathproof::port
