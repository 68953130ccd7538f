#include "harness/fingerprint/optics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/fingerprint/serials.h"

namespace pathproof::fingerprint {
namespace {

using Memory = std::span<const std::uint8_t>;

enum class Standard { kSfp, kQsfp, kCmis };

constexpr std::size_t kNameBytes = 16;
constexpr std::size_t kPageBytes = 128;

struct ModuleLayout {
    std::uint8_t identifier;
    Standard standard;
    const char* kind;
    std::size_t vendor, part, revision, revision_bytes, serial;
};

// SFF-8024, table 4-1, names the identifiers. Nothing: of a kind that is not known, or too short.
std::optional<ModuleLayout> layout_of(Memory eeprom) {
    constexpr std::array kLayouts{
        ModuleLayout{0x03, Standard::kSfp, "SFP", 20, 40, 56, 4, 68},
        ModuleLayout{0x0c, Standard::kQsfp, "QSFP", 148, 168, 184, 2, 196},
        ModuleLayout{0x0d, Standard::kQsfp, "QSFP+", 148, 168, 184, 2, 196},
        ModuleLayout{0x11, Standard::kQsfp, "QSFP28", 148, 168, 184, 2, 196},
        ModuleLayout{0x18, Standard::kCmis, "QSFP-DD", 129, 148, 164, 2, 166},
        ModuleLayout{0x19, Standard::kCmis, "OSFP", 129, 148, 164, 2, 166},
        ModuleLayout{0x1e, Standard::kCmis, "QSFP+ with CMIS", 129, 148, 164, 2, 166},
    };
    const auto* layout =
        eeprom.empty() ? kLayouts.end()
                       : std::ranges::find(kLayouts, eeprom.front(), &ModuleLayout::identifier);
    return layout == kLayouts.end() || eeprom.size() < layout->serial + kNameBytes
               ? std::nullopt
               : std::optional(*layout);
}

std::string field(Memory eeprom, std::size_t at, std::size_t bytes) {
    return printable_text(eeprom.subspan(at, bytes));
}

std::uint8_t byte_at(Memory memory, std::size_t at) {
    return at < memory.size() ? memory[at] : std::uint8_t{0};
}

unsigned word_of(Memory memory, std::size_t at) {
    return static_cast<unsigned>(byte_at(memory, at)) << 8 | byte_at(memory, at + 1);
}

// SFF-8636, table 6-21: from 1010b on the upper half of byte 147 names copper.
bool is_qsfp_copper(Memory eeprom) {
    constexpr std::size_t kTechnology = 147;
    constexpr unsigned kFirstCopper = 0xa;
    return byte_at(eeprom, kTechnology) >> 4 >= kFirstCopper;
}

// SFF-8472, table 5-3, byte 8: bits 2 and 3 say passive and active cable.
bool is_sfp_cable(Memory eeprom) {
    constexpr std::uint8_t kCable = 0x0c;
    return (byte_at(eeprom, 8) & kCable) != 0;
}

// In metres; empty: no cable of a fixed length.
std::string cable_length(Standard standard, Memory eeprom) {
    constexpr std::size_t kSfpCopper = 18;
    constexpr std::size_t kQsfpCopper = 146;
    constexpr std::size_t kCmisLength = 202;
    switch (standard) {
        case Standard::kSfp:
            return is_sfp_cable(eeprom) && byte_at(eeprom, kSfpCopper) != 0
                       ? fmt::format("{} m", byte_at(eeprom, kSfpCopper))
                       : "";
        case Standard::kQsfp:
            return is_qsfp_copper(eeprom) && byte_at(eeprom, kQsfpCopper) != 0
                       ? fmt::format("{} m", byte_at(eeprom, kQsfpCopper))
                       : "";
        case Standard::kCmis: {
            // CMIS 5.0, table 8-31: a multiplier of 0.1, 1, 10 or 100 in bits 7 and 6.
            constexpr std::array kMultipliers{0.1, 1.0, 10.0, 100.0};
            const std::uint8_t length = byte_at(eeprom, kCmisLength);
            const unsigned base = length & 0x3f;
            return base == 0 ? "" : fmt::format("{:g} m", base * kMultipliers[length >> 6]);
        }
    }
    return "";
}

// In the units of all three standards: 1/256 °C (signed), 100 µV, 2 µA, 0.1 µW.
double celsius(unsigned word) {
    return static_cast<std::int16_t>(word) / 256.0;
}
double volts(unsigned word) {
    return word / 10'000.0;
}
double milliamperes(unsigned word) {
    return word * 0.002;
}
double milliwatts(unsigned word) {
    return word / 10'000.0;
}

void add_lanes(Memory memory, std::size_t rx, std::size_t bias, std::size_t tx, std::size_t lanes,
               std::vector<ModuleMonitor>& all) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        const std::string of = lanes == 1 ? "" : fmt::format(" of lane {}", lane + 1);
        all.push_back({"Rx power" + of, "mW", milliwatts(word_of(memory, rx + 2 * lane))});
        all.push_back({"Tx power" + of, "mW", milliwatts(word_of(memory, tx + 2 * lane))});
        all.push_back({"laser bias" + of, "mA", milliamperes(word_of(memory, bias + 2 * lane))});
    }
}

constexpr std::size_t kSfpMonitoring = 92;
constexpr std::uint8_t kSfpImplemented = 0x40;
constexpr std::uint8_t kSfpInternal = 0x20;  // values need no constants of the module

}  // namespace

std::string module_text(Memory eeprom) {
    const auto layout = layout_of(eeprom);
    return !layout ? ""
                   : fmt::format("{}, {} {} rev {}", layout->kind,
                                 field(eeprom, layout->vendor, kNameBytes),
                                 field(eeprom, layout->part, kNameBytes),
                                 field(eeprom, layout->revision, layout->revision_bytes));
}

std::string module_serial(Memory eeprom) {
    const auto layout = layout_of(eeprom);
    return layout ? field(eeprom, layout->serial, kNameBytes) : "";
}

std::vector<std::pair<const char*, std::string>> module_identity(Memory eeprom) {
    const auto layout = layout_of(eeprom);
    if (!layout) {
        return {};
    }
    std::vector<std::pair<const char*, std::string>> all{
        {"kind", layout->kind},
        {"maker", field(eeprom, layout->vendor, kNameBytes)},
        {"part number", field(eeprom, layout->part, kNameBytes)},
        {"revision", field(eeprom, layout->revision, layout->revision_bytes)},
        {"cable length", cable_length(layout->standard, eeprom)}};
    std::erase_if(all, [](const auto& each) { return each.second.empty(); });
    return all;
}

std::optional<MonitorPage> monitor_page(Memory eeprom) {
    const auto layout = layout_of(eeprom);
    if (!layout) {
        return std::nullopt;
    }
    if (layout->standard == Standard::kSfp) {
        constexpr std::uint8_t kWanted = kSfpImplemented | kSfpInternal;
        return (byte_at(eeprom, kSfpMonitoring) & kWanted) == kWanted
                   ? std::optional(MonitorPage{.offset = 0, .page = 0, .address = 0x51})
                   : std::nullopt;
    }
    constexpr std::uint8_t kFlat = 0x80;  // CMIS, byte 2: the module has one page
    return layout->standard == Standard::kCmis && (byte_at(eeprom, 2) & kFlat) == 0
               ? std::optional(MonitorPage{.offset = kPageBytes, .page = 0x11, .address = 0x50})
               : std::nullopt;
}

std::vector<ModuleMonitor> module_monitors(Memory eeprom, Memory monitors) {
    const auto layout = layout_of(eeprom);
    std::vector<ModuleMonitor> all;
    if (!layout) {
        return all;
    }
    const auto add_module = [&](Memory memory, std::size_t temperature, std::size_t supply) {
        all.push_back({"module temperature", "°C", celsius(word_of(memory, temperature))});
        all.push_back({"module supply voltage", "V", volts(word_of(memory, supply))});
    };
    switch (layout->standard) {
        case Standard::kSfp:  // SFF-8472, table 9-16, of the second address
            if (monitors.size() >= kPageBytes) {
                add_module(monitors, 96, 98);
                add_lanes(monitors, 104, 100, 102, 1, all);
            }
            break;
        case Standard::kQsfp:  // SFF-8636, table 6-7
            if (!is_qsfp_copper(eeprom)) {
                add_module(eeprom, 22, 26);
                add_lanes(eeprom, 34, 42, 50, 4, all);
            }
            break;
        case Standard::kCmis: {  // CMIS 5.0, tables 8-9 and 8-96
            constexpr std::size_t kLaneCount = 88;
            constexpr unsigned kMostLanes = 8;
            const unsigned lanes = byte_at(eeprom, kLaneCount) & 0xf;
            if (monitors.size() >= kPageBytes) {
                add_module(eeprom, 14, 16);
                // The page begins at address 128.
                add_lanes(monitors, 186 - kPageBytes, 170 - kPageBytes, 154 - kPageBytes,
                          lanes == 0 || lanes > kMostLanes ? kMostLanes : lanes, all);
            }
            break;
        }
    }
    return all;
}

}  // namespace pathproof::fingerprint
