// A plugged module or cable by its memory: SFF-8472 (SFP), SFF-8636 (QSFP), CMIS.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pathproof::fingerprint {

// `eeprom` of all that follow: the lower half of page 0 and the first half of what follows it. Of a kind
// that is not known, or too short, it gives nothing.

// "SFP, ACME SFP-10G-SR rev A".
std::string module_text(std::span<const std::uint8_t> eeprom);
// Its vendor's serial number.
std::string module_serial(std::span<const std::uint8_t> eeprom);
// Kind, maker, part number, revision, cable length: name and value, those that it tells.
std::vector<std::pair<const char*, std::string>> module_identity(
    std::span<const std::uint8_t> eeprom);

// The page of measured values that the first page does not have: 128 bytes.
struct MonitorPage {
    std::uint32_t offset = 0;
    std::uint8_t page = 0;
    std::uint8_t address = 0;  // on the module's bus
};
// Finds that page in the first one; nothing: there is none, or the first page has all.
std::optional<MonitorPage> monitor_page(std::span<const std::uint8_t> eeprom);

struct ModuleMonitor {
    std::string name;  // "module temperature", "Rx power of lane 1"
    const char* unit;  // "°C", "V", "mA", "mW"
    double value = 0;
};
// Its own measurements (digital optical monitoring), where it says that it makes any. `monitors`: the page
// above; empty: it could not be read.
std::vector<ModuleMonitor> module_monitors(std::span<const std::uint8_t> eeprom,
                                           std::span<const std::uint8_t> monitors);

}  // namespace pathproof::fingerprint
