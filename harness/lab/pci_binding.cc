#include "harness/lab/pci_binding.h"

#include <fcntl.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "harness/lab/interface_settings.h"
#include "harness/lab/machine_use.h"
#include "harness/process/json_text.h"
#include "harness/process/program.h"

namespace pathproof::lab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr auto kWhateverHappens = process::Starts::kWhileStopping;
constexpr std::chrono::milliseconds kDriverTime{10'000};
constexpr std::chrono::milliseconds kDriverPause{50};

// By UserDriver.
constexpr std::array kUserDrivers{"vfio-pci", "vfio-noiommu", "uio_pci_generic"};

fs::path pci_folder(const std::string& address, const KernelFiles& files) {
    return fs::path(files.sys) / "bus/pci/devices" / address;
}

Result<fs::path> existing_device(const std::string& address, const KernelFiles& files) {
    const fs::path device = pci_folder(address, files);
    std::error_code none;
    if (!fs::exists(device, none)) {
        return fail(ErrorCode::kNotFound,
                    "this machine has no PCI device {}; 'lspci -D' lists those it has", address);
    }
    return device;
}

std::string target_of(const fs::path& link) {
    std::error_code none;
    return fs::read_symlink(link, none).filename().string();
}

// A file of one line; empty: there is none, or the kernel's "(null)".
std::string line_of(const fs::path& path) {
    std::string text = read_file(path.string()).value_or("");
    text.erase(std::min(text.find('\n'), text.size()));
    return text == "(null)" ? "" : text;
}

// In this network namespace: of the device itself, or of one on its bus (virtio1/net/eth0).
std::string interface_below(const fs::path& device) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(device / "net", none)) {
        return entry.path().filename().string();
    }
    for (const auto& below : fs::directory_iterator(device, none)) {
        std::error_code no_folder;
        if (!below.is_directory(no_folder) || below.is_symlink(no_folder)) {
            continue;
        }
        for (const auto& entry : fs::directory_iterator(below.path() / "net", no_folder)) {
            return entry.path().filename().string();
        }
    }
    return "";
}

Status make(const std::vector<SysfsWrite>& steps) {
    for (const SysfsWrite& step : steps) {
        TRY(write_file(step.path, step.text, 0));
    }
    return {};
}

// The kernel probes a device when it is told to, most drivers before the write returns.
template <typename Done>
bool wait_until(const Done& done) {
    for (auto left = kDriverTime; !done(); left -= kDriverPause) {
        if (left.count() <= 0) {
            return false;
        }
        std::this_thread::sleep_for(kDriverPause);
    }
    return true;
}

// Returns the process that has the device open; empty: none. The kernel takes a device away from
// nobody, and waits.
std::string holder_of(const fs::path& device, const KernelFiles& files) {
    const std::string group = target_of(device / "iommu_group");
    std::error_code none;
    for (const auto& process : fs::directory_iterator(files.proc, none)) {
        std::error_code gone;
        const std::string pid = process.path().filename().string();
        if (pid.find_first_not_of("0123456789") != std::string::npos) {
            continue;
        }
        for (const auto& open : fs::directory_iterator(process.path() / "fd", gone)) {
            const std::string file = fs::read_symlink(open.path(), gone).string();
            if (!group.empty() &&
                (file == "/dev/vfio/" + group || file == "/dev/vfio/noiommu-" + group)) {
                return fmt::format("process {} ({})", pid, line_of(process.path() / "comm"));
            }
        }
    }
    return "";
}

// The fresh interface gets the name and the settings that the former one had. Gives how many it
// lacked.
Result<std::size_t> give_back_interface(const PciBinding& was, const fs::path& device) {
    if (was.interface.empty()) {
        return 0;
    }
    if (!wait_until([&] { return !interface_below(device).empty(); })) {
        return fail(ErrorCode::kFailed, "{} has no interface with its driver {} again",
                    device.filename().string(), was.driver);
    }
    std::size_t made = 0;
    if (const std::string now = interface_below(device); now != was.interface) {
        TRY(run_ip_here(fmt::format("link set dev {} down", now)));
        TRY(run_ip_here(fmt::format("link set dev {} name {}", now, was.interface)));
        ++made;
    }
    return made + TRY(give_settings(was.interface, was.settings));
}

}  // namespace

Result<UserDriver> parse_user_driver(const std::string& text) {
    const auto known = std::ranges::find(kUserDrivers, text);
    if (known != kUserDrivers.end()) {
        return static_cast<UserDriver>(known - kUserDrivers.begin());
    }
    return fail(ErrorCode::kBadInput,
                "'{}' gives no device to DPDK; there are vfio-pci, and without the protection of "
                "an IOMMU vfio-noiommu and uio_pci_generic",
                text);
}

const char* user_driver_name(UserDriver driver) {
    return kUserDrivers[static_cast<std::size_t>(driver)];
}

const char* kernel_name(UserDriver driver) {
    return driver == UserDriver::kVfioNoIommu ? user_driver_name(UserDriver::kVfio)
                                              : user_driver_name(driver);
}

bool is_shared_driver(const std::string& kernel_driver) {
    return kernel_driver == "mlx5_core" || kernel_driver == "mlx4_core" || kernel_driver == "mana";
}

std::string to_string(const PciBinding& binding) {
    return process::to_text(json{{"driver", binding.driver},
                                 {"preferred", binding.preferred},
                                 {"interface", binding.interface},
                                 {"settings", binding.settings}});
}

Result<PciBinding> parse_binding(const std::string& text) {
    const json read = process::parse_foreign(text);
    if (!read.is_object()) {
        return fail(ErrorCode::kBadInput, "'{}' does not say how a device was bound", text);
    }
    PciBinding binding{.driver = process::text_in(read, "driver"),
                       .preferred = process::text_in(read, "preferred"),
                       .interface = process::text_in(read, "interface")};
    for (const json& line : process::part(read, "settings")) {
        if (line.is_string()) {
            binding.settings.push_back(line.get<std::string>());
        }
    }
    return binding;
}

Result<PciBinding> read_binding(const std::string& address, const KernelFiles& files) {
    const fs::path device = TRY(existing_device(address, files));
    PciBinding binding{.driver = target_of(device / "driver"),
                       .preferred = line_of(device / "driver_override"),
                       .interface = interface_below(device)};
    if (!binding.interface.empty()) {
        binding.settings = settings_of(binding.interface);
    }
    return binding;
}

Status check_bindable(const std::string& address, UserDriver driver, const KernelFiles& files) {
    const fs::path device = TRY(existing_device(address, files));
    std::error_code none;
    // The base class of network controllers (PCI Code and ID Assignment Specification, 1.3).
    if (const std::string code = line_of(device / "class"); !code.starts_with("0x02")) {
        return fail(ErrorCode::kBadInput, "PCI device {} is no network device (its class is {})",
                    address, code.empty() ? "unknown" : code);
    }
    const std::string now = target_of(device / "driver");
    if (now == kernel_name(driver)) {
        return {};
    }
    if (is_shared_driver(now)) {
        return fail(ErrorCode::kBadInput,
                    "PCI device {} stays with {}: its DPDK driver works beside the kernel's",
                    address, now);
    }
    if (parse_user_driver(now) || now == "igb_uio") {
        return fail(ErrorCode::kBadInput, "PCI device {} is bound to {} already", address, now);
    }
    if (!now.empty() && interface_below(device).empty()) {
        return fail(ErrorCode::kNotSupported,
                    "PCI device {} is bound to {} and has no interface in this network namespace: "
                    "what it is used for cannot be seen from here",
                    address, now);
    }
    const std::string group = target_of(device / "iommu_group");
    if (driver == UserDriver::kVfio && group.empty()) {
        return fail(
            ErrorCode::kNotSupported,
            "PCI device {} has no IOMMU: boot with intel_iommu=on or amd_iommu=on (and VT-d "
            "or AMD-Vi on in the BIOS). On a machine that trusts the device with all of its "
            "memory, driver = \"vfio-noiommu\" or \"uio_pci_generic\" in the lab file do "
            "without",
            address);
    }
    if (driver != UserDriver::kUioGeneric && !group.empty()) {
        for (const auto& other : fs::directory_iterator(device / "iommu_group/devices", none)) {
            const std::string its = target_of(other.path() / "driver");
            const std::string who = other.path().filename().string();
            const bool harmless = its.empty() || its == "vfio-pci" || its == "pci-stub" ||
                                  its == "pcieport" || who == address;
            if (!harmless) {
                return fail(
                    ErrorCode::kNotSupported,
                    "PCI device {} shares its IOMMU group {} with {}, which is bound to {}: "
                    "the group goes to user space whole, or not at all",
                    address, group, who, its);
            }
        }
    }
    if (!fs::exists(fs::path(files.sys) / "bus/pci/drivers" / kernel_name(driver), none)) {
        return fail(ErrorCode::kNotSupported,
                    "the driver {} is not loaded: 'modprobe {}', or let the lab file load it with "
                    "modules = [\"{}\"]",
                    kernel_name(driver), kernel_name(driver), kernel_name(driver));
    }
    return {};
}

std::vector<SysfsWrite> steps_between(const std::string& address, const PciBinding& now,
                                      const std::string& driver, const std::string& preferred,
                                      const KernelFiles& files) {
    const std::string device = pci_folder(address, files).string();
    const std::string drivers = files.sys + "/bus/pci/drivers/";
    std::vector<SysfsWrite> steps;
    if (!now.driver.empty() && now.driver != driver) {
        steps.push_back({drivers + now.driver + "/unbind", address});
    }
    if (now.preferred != preferred) {
        steps.push_back({device + "/driver_override", preferred + "\n"});
    }
    if (!driver.empty() && now.driver != driver) {
        steps.push_back({drivers + driver + "/bind", address});
    }
    return steps;
}

Status bind_to(const std::string& address, UserDriver driver, const KernelFiles& files) {
    const fs::path device = pci_folder(address, files);
    const PciBinding now{.driver = target_of(device / "driver"),
                         .preferred = line_of(device / "driver_override")};
    const std::string wanted = kernel_name(driver);
    TRY(make(steps_between(address, now, wanted, wanted, files)));
    if (!wait_until([&] { return target_of(device / "driver") == wanted; })) {
        return fail(ErrorCode::kFailed,
                    "the kernel did not bind PCI device {} to {}; dmesg says why", address, wanted);
    }
    return {};
}

Status undo_binding(const Note& note, const KernelFiles& files, UndoReport& report) {
    const std::string& address = note.name;
    const fs::path device = pci_folder(address, files);
    const auto was = TRY(parse_binding(note.value));
    const auto now = read_binding(address, files);
    if (!now) {
        return {};  // it was taken out
    }
    if (now->driver != was.driver && !now->driver.empty() && !note.is_ours(now->driver)) {
        return report.leave("the driver of PCI device " + address, now->driver);
    }
    if (note.is_ours(now->driver) && now->driver != was.driver) {
        if (const std::string holder = holder_of(device, files); !holder.empty()) {
            return fail(ErrorCode::kFailed, "PCI device {} is in use by {}: end that first",
                        address, holder);
        }
    }
    const auto steps = steps_between(address, *now, was.driver, was.preferred, files);
    TRY(make(steps));
    if (!wait_until([&] { return target_of(device / "driver") == was.driver; })) {
        return fail(ErrorCode::kFailed, "the kernel did not bind PCI device {} to {} again",
                    address, was.driver.empty() ? "no driver" : was.driver);
    }
    const auto settings = TRY(give_back_interface(was, device));
    if (steps.empty() && settings == 0) {
        return {};
    }
    return report.did(note, fmt::format("gave PCI device {} back to {}{}", address,
                                        was.driver.empty() ? "no driver" : was.driver,
                                        was.interface.empty() ? "" : " as " + was.interface));
}

}  // namespace pathproof::lab
