// A device under test as a certificate names it: what it is, its firmware and the very driver that
// serves it, and figures that are read before and after a run. What is not there is absent, never guessed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/fingerprint/nic.h"
#include "harness/verdict/certificate.h"

namespace pathproof::fingerprint {

// Describes a network device of the calling thread's namespace. `title` is left to the caller.
verdict::Item read_item(const std::string& device, Serials serials);
// Its readings alone, as of now: module, FEC, PCIe errors (AER), its own temperature sensors.
std::vector<verdict::Reading> read_item_readings(const std::string& device);

// Temperatures of a folder of hwmon devices ("/sys/class/hwmon"), in °C:
// Documentation/hwmon/sysfs-interface.rst of the kernel.
std::vector<verdict::Reading> read_temperatures(const std::string& folder);

// The name of a PCI vendor or device in a pci.ids file (https://pci-ids.ucw.cz): vendor and device as
// four hexadecimal digits; empty: not in it.
struct PciNames {
    std::string vendor;
    std::string device;
    std::string subsystem;
};
PciNames find_pci_names(std::string_view pci_ids, const std::string& vendor,
                        const std::string& device, const std::string& subsystem_vendor,
                        const std::string& subsystem_device);

// Maximum payload and read request of a PCIe device, and its link's power state, out of its configuration
// space (PCI Express Base Specification, 7.5.3.4 and 7.5.3.7): "payload 256 B, read request 512 B, ASPM off".
// Empty: it has no such capability, or the kernel handed on too little of it.
std::string pcie_settings(std::span<const std::uint8_t> config);

// Values of `modinfo`: filename, signer, intree, ... by their names; the first of each.
std::vector<std::pair<std::string, std::string>> parse_modinfo(std::string_view text);

}  // namespace pathproof::fingerprint
