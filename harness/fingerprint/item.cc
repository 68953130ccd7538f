#include "harness/fingerprint/item.h"

#include <fmt/format.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>

#include "dataplane/base/file.h"
#include "dataplane/base/number.h"
#include "harness/fingerprint/devlink.h"
#include "harness/fingerprint/host.h"
#include "harness/fingerprint/serials.h"
#include "harness/process/foreign.h"
#include "harness/process/program.h"
#include "harness/process/sha256.h"

namespace pathproof::fingerprint {
namespace {

namespace fs = std::filesystem;
using verdict::Fact;
using verdict::Item;
using verdict::Reading;

// "0x8086" as pci.ids and lspci write it: "8086".
std::string hex_digits(std::string text) {
    return text.starts_with("0x") ? text.substr(2) : text;
}

// The folder of the PCI device behind a network device, in which those of virtio have one above their own;
// empty: it is none of PCI.
std::string pci_folder(const std::string& device) {
    std::error_code none;
    fs::path folder = fs::canonical("/sys/class/net/" + device + "/device", none);
    for (int up = 0; !none && up < 2; ++up) {
        const fs::path subsystem = fs::canonical(folder / "subsystem", none);
        if (!none && subsystem.filename() == "pci") {
            return folder;
        }
        none.clear();
        folder = folder.parent_path();
    }
    return "";
}

struct DriverInfo {
    int error = 0;
    std::string name, version, firmware, bus;
};

template <std::size_t N>
std::string text_of(const char (&field)[N]) {
    return std::string(field, strnlen(field, N));
}

DriverInfo ask_driver(const std::string& device) {
    const Fd control(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ethtool_drvinfo info{};
    info.cmd = ETHTOOL_GDRVINFO;
    ifreq request{};
    std::strncpy(request.ifr_name, device.c_str(), IFNAMSIZ - 1);
    request.ifr_data = reinterpret_cast<char*>(&info);
    if (ioctl(control.get(), SIOCETHTOOL, &request) < 0) {
        return {.error = errno, .name = "", .version = "", .firmware = "", .bus = ""};
    }
    return {.error = 0,
            .name = text_of(info.driver),
            .version = text_of(info.version),
            .firmware = text_of(info.fw_version),
            .bus = text_of(info.bus_info)};
}

std::string value_of(const std::vector<std::pair<std::string, std::string>>& all,
                     std::string_view name) {
    const auto found =
        std::ranges::find_if(all, [&](const auto& each) { return each.first == name; });
    return found == all.end() ? "" : found->second;
}

// The first that says something, as a fact with its own source.
Fact first_fact(const char* name,
                std::initializer_list<std::pair<const char*, std::string>> places) {
    for (const auto& [source, value] : places) {
        if (!value.empty()) {
            return fact_of(name, source, 0, value);
        }
    }
    return fact_of(name, places.begin()->first, ENOENT, "");
}

std::vector<std::uint8_t> bytes_of(const std::string& path) {
    const std::string text = read_file(path).value_or("");
    return {text.begin(), text.end()};
}

PciNames names_of(const std::string& folder) {
    for (const char* file : {"/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids"}) {
        if (const auto text = read_file(file)) {
            return find_pci_names(*text, hex_digits(first_word(folder + "/vendor")),
                                  hex_digits(first_word(folder + "/device")),
                                  hex_digits(first_word(folder + "/subsystem_vendor")),
                                  hex_digits(first_word(folder + "/subsystem_device")));
        }
    }
    return {};
}

std::string ids_of(const std::string& folder, const char* vendor, const char* device) {
    const std::string first = first_word(folder + "/" + vendor);
    return first.empty() ? ""
                         : fmt::format("{}:{}", hex_digits(first),
                                       hex_digits(first_word(folder + "/" + device)));
}

std::string pcie_link(const std::string& folder) {
    const auto speed = [&](const char* which) {
        const std::string gt_s = first_word(fmt::format("{}/{}_link_speed", folder, which));
        const std::string width = first_word(fmt::format("{}/{}_link_width", folder, which));
        return gt_s.empty() || gt_s == "Unknown" || width.empty() || width == "0"
                   ? std::string()
                   : fmt::format("{} GT/s x{}", gt_s, width);
    };
    const std::string now = speed("current");
    return now.empty() ? "" : fmt::format("{}; the device can {}", now, speed("max"));
}

std::vector<Fact> identity_of(const std::string& folder, const DriverInfo& driver,
                              const DevlinkInfo& devlink, Serials serials) {
    const std::vector<std::uint8_t> vpd =
        folder.empty() ? std::vector<std::uint8_t>() : bytes_of(folder + "/vpd");
    const PciNames names = folder.empty() ? PciNames() : names_of(folder);
    const std::string config = (folder.empty() ? std::string("sysfs") : folder) + "/config";
    std::vector<Fact> facts{
        first_fact("maker",
                   {{"pci.ids", names.vendor},
                    {"devlink board.manufacture", value_of(devlink.fixed, "board.manufacture")}}),
        first_fact(
            "model",
            {{"VPD", vpd_name(vpd)}, {"pci.ids", names.subsystem}, {"pci.ids", names.device}}),
        first_fact("part number", {{"VPD", vpd_field(vpd, 'P', 'N')},
                                   {"devlink board.id", value_of(devlink.fixed, "board.id")}}),
        first_fact("revision", {{"VPD", vpd_field(vpd, 'E', 'C')},
                                {"devlink board.rev", value_of(devlink.fixed, "board.rev")}}),
        fact_of("PCI ids", "sysfs", 0, folder.empty() ? "" : ids_of(folder, "vendor", "device")),
        fact_of("subsystem", "sysfs", 0,
                folder.empty() ? "" : ids_of(folder, "subsystem_vendor", "subsystem_device")),
        fact_of("bus", "ETHTOOL_GDRVINFO", driver.error, driver.bus),
        fact_of("PCIe link", "sysfs", 0, folder.empty() ? "" : pcie_link(folder)),
        fact_of("PCIe settings", config, 0, folder.empty() ? "" : pcie_settings(bytes_of(config))),
    };
    if (serials == Serials::kAsked) {
        facts.push_back(first_fact("serial number", {{"VPD", vpd_field(vpd, 'S', 'N')},
                                                     {"devlink", devlink.serial_number}}));
    }
    return facts;
}

// The module that serves a device, by sysfs; empty: a driver that is built in, or none.
std::string module_of(const std::string& device, const std::string& driver) {
    std::error_code none;
    const fs::path module =
        fs::canonical("/sys/class/net/" + device + "/device/driver/module", none);
    if (!none) {
        return module.filename();
    }
    // Virtual devices have no driver in sysfs; their modules are named as they are.
    return driver.find('/') == std::string::npos && fs::exists("/sys/module/" + driver, none)
               ? driver
               : "";
}

std::string tree_of(const std::string& module, bool is_loadable) {
    if (!is_loadable) {
        return "built into the kernel";
    }
    // Documentation/ABI/testing/sysfs-module of the kernel: O says out of tree, E unsigned.
    const std::string taint = first_word("/sys/module/" + module + "/taint");
    return fmt::format("{}{}", taint.find('O') == std::string::npos ? "in tree" : "out of tree",
                       taint.find('E') == std::string::npos ? "" : ", unsigned");
}

std::vector<Fact> driver_facts(const std::string& device, const DriverInfo& driver) {
    const std::string module = module_of(device, driver.name);
    const std::string folder = "/sys/module" + (module.empty() ? std::string() : "/" + module);
    std::error_code none;
    const bool is_loadable = !module.empty() && fs::exists(folder + "/initstate", none);
    std::vector<std::pair<std::string, std::string>> info;
    if (is_loadable) {
        info = parse_modinfo(process::run_checked({"modinfo", module}).value_or(""));
    }
    const std::string path = value_of(info, "filename");
    const auto hash =
        path.empty() ? Result<std::string>(std::string()) : process::sha256_of_file(path);
    std::string package;
    if (!path.empty()) {
        const auto owner = process::run_checked({"dpkg-query", "--search", path});
        package = owner ? owner->substr(0, owner->find(':')) : "";
    }
    return {
        fact_of("name", "ETHTOOL_GDRVINFO", driver.error, driver.name),
        fact_of("version", "ETHTOOL_GDRVINFO", driver.error, driver.version),
        fact_of("srcversion", folder + "/srcversion", 0,
                is_loadable ? first_word(folder + "/srcversion") : ""),
        fact_of("module", "modinfo", 0, path),
        fact_of("SHA-256", path.empty() ? "modinfo" : path, 0, hash.value_or("")),
        fact_of("signer", "modinfo", 0, value_of(info, "signer")),
        fact_of("tree", folder + "/taint", driver.error,
                driver.name.empty() ? "" : tree_of(module, is_loadable)),
        fact_of("package", "dpkg-query", 0, package),
    };
}

void add_aer(const std::string& folder, std::vector<Reading>& all) {
    for (const auto& [name, file, total] :
         {std::tuple{"PCIe corrected errors", "aer_dev_correctable", "TOTAL_ERR_COR"},
          std::tuple{"PCIe uncorrected errors, nonfatal", "aer_dev_nonfatal", "TOTAL_ERR_NONFATAL"},
          std::tuple{"PCIe uncorrected errors, fatal", "aer_dev_fatal", "TOTAL_ERR_FATAL"}}) {
        const auto text = read_file(folder + "/" + file);
        for (const std::string& line : process::lines_of(text.value_or(""))) {
            if (line.starts_with(total)) {
                const auto count = whole_number<std::uint64_t>(
                    std::string_view(line).substr(std::strlen(total) + 1));
                all.push_back(
                    {.name = name,
                     .unit = "",
                     .begin = count ? std::optional(static_cast<double>(*count)) : std::nullopt,
                     .end = std::nullopt,
                     .source = file});
            }
        }
    }
}

}  // namespace

std::vector<Reading> read_temperatures(const std::string& folder) {
    std::vector<Reading> all;
    std::vector<std::string> inputs;
    std::error_code none;
    for (const auto& chip : fs::directory_iterator(folder, none)) {
        std::error_code no_files;
        for (const auto& file : fs::directory_iterator(chip.path(), no_files)) {
            const std::string name = file.path().filename();
            if (name.starts_with("temp") && name.ends_with("_input")) {
                inputs.push_back(file.path());
            }
        }
    }
    std::ranges::sort(inputs);
    for (const std::string& input : inputs) {
        constexpr std::size_t kInput = 6;  // "_input"
        const std::string place = input.substr(0, input.size() - kInput);
        const auto millidegrees = whole_number<std::int64_t>(first_word(input));
        const std::string chip = first_word(fs::path(input).parent_path() / "name");
        std::string label = read_file(place + "_label").value_or(fs::path(place).filename());
        label.resize(std::min(label.size(), label.find('\n')));
        all.push_back({.name = fmt::format("{} {}", chip.empty() ? "hwmon" : chip, label),
                       .unit = "°C",
                       .begin = millidegrees
                                    ? std::optional(static_cast<double>(*millidegrees) / 1000)
                                    : std::nullopt,
                       .end = std::nullopt,
                       .source = input});
    }
    return all;
}

PciNames find_pci_names(std::string_view pci_ids, const std::string& vendor,
                        const std::string& device, const std::string& subsystem_vendor,
                        const std::string& subsystem_device) {
    PciNames names;
    bool in_vendor = false;
    bool in_device = false;
    const std::string subsystem = subsystem_vendor + " " + subsystem_device;
    // "8086  Intel Corporation", "\t1592  Ethernet Controller E810-C", "\t\t8086 0001  Network Adapter".
    const auto name_behind = [](std::string_view line, std::string_view id) {
        return line.starts_with(id) && line.substr(id.size()).starts_with("  ")
                   ? std::string(line.substr(id.size() + 2))
                   : std::string();
    };
    while (!pci_ids.empty() && !vendor.empty()) {
        const std::size_t end = std::min(pci_ids.find('\n'), pci_ids.size());
        const std::string_view line = pci_ids.substr(0, end);
        pci_ids.remove_prefix(std::min(end + 1, pci_ids.size()));
        if (line.empty() || line.front() == '#') {
            continue;
        }
        if (line.front() != '\t') {
            if (in_vendor) {
                break;
            }
            names.vendor = name_behind(line, vendor);
            in_vendor = !names.vendor.empty();
        } else if (in_vendor && line.starts_with("\t\t")) {
            if (in_device && names.subsystem.empty()) {
                names.subsystem = name_behind(line.substr(2), subsystem);
            }
        } else if (in_vendor) {
            const std::string name = name_behind(line.substr(1), device);
            in_device = !name.empty();
            names.device = in_device ? name : names.device;
        }
    }
    return names;
}

std::string pcie_settings(std::span<const std::uint8_t> config) {
    constexpr std::size_t kFirst = 0x34;  // of the list of capabilities
    constexpr std::uint8_t kExpress = 0x10;
    constexpr std::size_t kDeviceControl = 0x08;
    constexpr std::size_t kLinkControl = 0x10;
    constexpr std::size_t kHeader = 64;
    constexpr int kMost = 48;  // of capabilities in 192 bytes; a circle ends there
    std::size_t at = config.size() > kFirst ? config[kFirst] & 0xfcu : 0;
    for (int seen = 0; seen < kMost && at >= kHeader; ++seen) {
        if (at + kLinkControl + 1 >= config.size()) {
            return "";
        }
        if (config[at] == kExpress) {
            const unsigned device = config[at + kDeviceControl] |
                                    static_cast<unsigned>(config[at + kDeviceControl + 1]) << 8;
            constexpr std::array kStates{"off", "L0s", "L1", "L0s and L1"};
            return fmt::format("payload {} B, read request {} B, ASPM {}",
                               128u << (device >> 5 & 7), 128u << (device >> 12 & 7),
                               kStates[config[at + kLinkControl] & 3u]);
        }
        at = config[at + 1] & 0xfcu;
    }
    return "";
}

std::vector<std::pair<std::string, std::string>> parse_modinfo(std::string_view text) {
    std::vector<std::pair<std::string, std::string>> all;
    for (const std::string& line : process::lines_of(text)) {
        const std::size_t colon = line.find(':');
        const std::string name = line.substr(0, colon);
        if (colon == std::string::npos || !value_of(all, name).empty()) {
            continue;
        }
        const std::size_t value = line.find_first_not_of(" \t", colon + 1);
        all.emplace_back(name, value == std::string::npos ? "" : line.substr(value));
    }
    return all;
}

std::vector<Reading> read_item_readings(const std::string& device) {
    std::vector<Reading> all = read_link_readings(device);
    if (const std::string folder = pci_folder(device); !folder.empty()) {
        add_aer(folder, all);
        std::ranges::move(read_temperatures(folder + "/hwmon"), std::back_inserter(all));
    }
    return all;
}

Item read_item(const std::string& device, Serials serials) {
    const DriverInfo driver = ask_driver(device);
    const std::string folder = pci_folder(device);
    DevlinkInfo devlink;
    if (!folder.empty()) {
        devlink = read_devlink("pci", fs::path(folder).filename());
    }
    Item item{.device = device, .title = ""};
    item.identity = identity_of(folder, driver, devlink, serials);
    item.firmware = devlink.firmware;
    if (item.firmware.empty() && !driver.firmware.empty()) {
        item.firmware.push_back({.name = "fw", .running = driver.firmware, .stored = ""});
    }
    item.driver = driver_facts(device, driver);
    item.module = read_module_facts(device, serials);
    item.readings = read_item_readings(device);
    return item;
}

}  // namespace pathproof::fingerprint
