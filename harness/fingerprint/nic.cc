#include "harness/fingerprint/nic.h"

#include <fmt/ranges.h>
#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "dataplane/base/file.h"
#include "harness/fingerprint/genetlink.h"
#include "harness/fingerprint/host.h"
#include "harness/fingerprint/optics.h"

namespace pathproof::fingerprint {
namespace {

namespace fs = std::filesystem;
using verdict::Fact;
using verdict::Reading;

constexpr const char* kEepromSource = "ETHTOOL_MSG_MODULE_EEPROM_GET";

// The header of every request and answer has this number (ETHTOOL_A_*_HEADER).
constexpr std::uint16_t kHeader = 1;

// The names of the bits that are set. In a bitset with a mask those are set that have a value.
std::string bits(const Attributes& from, std::uint16_t type) {
    const Attributes parts = nested(attribute_of(from, type));
    const bool is_list = parts.contains(ETHTOOL_A_BITSET_NOMASK);
    std::vector<std::string> names;
    for (const nlattr* bit :
         listed(attribute_of(parts, ETHTOOL_A_BITSET_BITS), ETHTOOL_A_BITSET_BITS_BIT)) {
        const Attributes of = nested(bit);
        const nlattr* name = attribute_of(of, ETHTOOL_A_BITSET_BIT_NAME);
        if (name != nullptr && (is_list || of.contains(ETHTOOL_A_BITSET_BIT_VALUE))) {
            names.push_back(words(name));
        }
    }
    return fmt::format("{}", fmt::join(names, " "));
}

struct Label {
    std::uint16_t type;
    const char* name;
};

// "rx 256, tx 256": those that are there and, with `without_zero`, not 0.
std::string numbers(const Attributes& from, std::span<const Label> labels,
                    bool without_zero = false) {
    std::vector<std::string> all;
    for (const Label& label : labels) {
        const auto value = number(from, label.type);
        if (value && !(without_zero && *value == 0)) {
            all.push_back(fmt::format("{} {}", label.name, *value));
        }
    }
    return fmt::format("{}", fmt::join(all, ", "));
}

std::string rings(const Attributes& from) {
    constexpr std::array kNow{
        Label{ETHTOOL_A_RINGS_RX, "rx"}, Label{ETHTOOL_A_RINGS_RX_MINI, "rx mini"},
        Label{ETHTOOL_A_RINGS_RX_JUMBO, "rx jumbo"}, Label{ETHTOOL_A_RINGS_TX, "tx"}};
    constexpr std::array kMost{
        Label{ETHTOOL_A_RINGS_RX_MAX, "rx"}, Label{ETHTOOL_A_RINGS_RX_MINI_MAX, "rx mini"},
        Label{ETHTOOL_A_RINGS_RX_JUMBO_MAX, "rx jumbo"}, Label{ETHTOOL_A_RINGS_TX_MAX, "tx"}};
    return fmt::format("{}; at most {}", numbers(from, kNow), numbers(from, kMost));
}

std::string channels(const Attributes& from) {
    constexpr std::array kNow{Label{ETHTOOL_A_CHANNELS_RX_COUNT, "rx"},
                              Label{ETHTOOL_A_CHANNELS_TX_COUNT, "tx"},
                              Label{ETHTOOL_A_CHANNELS_OTHER_COUNT, "other"},
                              Label{ETHTOOL_A_CHANNELS_COMBINED_COUNT, "combined"}};
    constexpr std::array kMost{Label{ETHTOOL_A_CHANNELS_RX_MAX, "rx"},
                               Label{ETHTOOL_A_CHANNELS_TX_MAX, "tx"},
                               Label{ETHTOOL_A_CHANNELS_OTHER_MAX, "other"},
                               Label{ETHTOOL_A_CHANNELS_COMBINED_MAX, "combined"}};
    return fmt::format("{}; at most {}", numbers(from, kNow, true), numbers(from, kMost, true));
}

std::string coalescing(const Attributes& from) {
    constexpr std::array kAll{Label{ETHTOOL_A_COALESCE_RX_USECS, "rx-usecs"},
                              Label{ETHTOOL_A_COALESCE_RX_MAX_FRAMES, "rx-frames"},
                              Label{ETHTOOL_A_COALESCE_RX_USECS_IRQ, "rx-usecs-irq"},
                              Label{ETHTOOL_A_COALESCE_RX_MAX_FRAMES_IRQ, "rx-frames-irq"},
                              Label{ETHTOOL_A_COALESCE_TX_USECS, "tx-usecs"},
                              Label{ETHTOOL_A_COALESCE_TX_MAX_FRAMES, "tx-frames"},
                              Label{ETHTOOL_A_COALESCE_TX_USECS_IRQ, "tx-usecs-irq"},
                              Label{ETHTOOL_A_COALESCE_TX_MAX_FRAMES_IRQ, "tx-frames-irq"},
                              Label{ETHTOOL_A_COALESCE_STATS_BLOCK_USECS, "stats-block-usecs"},
                              Label{ETHTOOL_A_COALESCE_USE_ADAPTIVE_RX, "adaptive-rx"},
                              Label{ETHTOOL_A_COALESCE_USE_ADAPTIVE_TX, "adaptive-tx"}};
    return numbers(from, kAll);
}

std::string pause_frames(const Attributes& from) {
    constexpr std::array kAll{Label{ETHTOOL_A_PAUSE_AUTONEG, "autoneg"},
                              Label{ETHTOOL_A_PAUSE_RX, "rx"}, Label{ETHTOOL_A_PAUSE_TX, "tx"}};
    return numbers(from, kAll);
}

std::string time_stamping(const Attributes& from) {
    const auto clock = number(from, ETHTOOL_A_TSINFO_PHC_INDEX);
    return fmt::format(
        "{}; tx {}; rx filters {}; PTP hardware clock {}",
        bits(from, ETHTOOL_A_TSINFO_TIMESTAMPING), bits(from, ETHTOOL_A_TSINFO_TX_TYPES),
        bits(from, ETHTOOL_A_TSINFO_RX_FILTERS), clock ? std::to_string(*clock) : "none");
}

// The kernel tells the active mode by the number of its link mode bit (enum
// ethtool_link_mode_bit_indices).
const char* fec_name(std::optional<std::uint64_t> bit) {
    if (!bit) {
        return "none";
    }
    switch (*bit) {
        case ETHTOOL_LINK_MODE_FEC_RS_BIT: return "RS";
        case ETHTOOL_LINK_MODE_FEC_BASER_BIT: return "BaseR";
        case ETHTOOL_LINK_MODE_FEC_LLRS_BIT: return "LLRS";
        case ETHTOOL_LINK_MODE_FEC_NONE_BIT: return "off";
        default: return "of a kind unknown here";
    }
}

std::string error_correction(const Attributes& from) {
    const auto automatic = number(from, ETHTOOL_A_FEC_AUTO);
    return fmt::format("configured {}{}; active {}", bits(from, ETHTOOL_A_FEC_MODES),
                       automatic.value_or(0) != 0 ? " auto" : "",
                       fec_name(number(from, ETHTOOL_A_FEC_ACTIVE)));
}

std::string tunnels(const Attributes& from) {
    std::vector<std::string> tables;
    for (const nlattr* table :
         listed(attribute_of(from, ETHTOOL_A_TUNNEL_INFO_UDP_PORTS), ETHTOOL_A_TUNNEL_UDP_TABLE)) {
        const Attributes of = nested(table);
        std::vector<std::string> entries;
        for (const nlattr* entry : listed(table, ETHTOOL_A_TUNNEL_UDP_TABLE_ENTRY)) {
            if (const nlattr* port = attribute_of(nested(entry), ETHTOOL_A_TUNNEL_UDP_ENTRY_PORT)) {
                entries.push_back(std::to_string(ntohs(mnl_attr_get_u16(port))));
            }
        }
        tables.push_back(fmt::format(
            "{} ports for {}: {}", number(of, ETHTOOL_A_TUNNEL_UDP_TABLE_SIZE).value_or(0),
            bits(of, ETHTOOL_A_TUNNEL_UDP_TABLE_TYPES),
            entries.empty() ? "none used" : fmt::format("{}", fmt::join(entries, " "))));
    }
    return fmt::format("{}", fmt::join(tables, "; "));
}

constexpr std::uint32_t kHalfPage = 128;
constexpr std::uint8_t kModuleAddress = 0x50;

// 128 bytes of a page of the module, from its start or its middle.
struct HalfPage {
    std::uint32_t offset = 0;
    std::uint8_t page = 0;
    std::uint8_t address = kModuleAddress;
};

void ask_for_eeprom(nlmsghdr* request, const HalfPage& which) {
    mnl_attr_put_u32(request, ETHTOOL_A_MODULE_EEPROM_OFFSET, which.offset);
    mnl_attr_put_u32(request, ETHTOOL_A_MODULE_EEPROM_LENGTH, kHalfPage);
    mnl_attr_put_u8(request, ETHTOOL_A_MODULE_EEPROM_PAGE, which.page);
    mnl_attr_put_u8(request, ETHTOOL_A_MODULE_EEPROM_BANK, 0);
    mnl_attr_put_u8(request, ETHTOOL_A_MODULE_EEPROM_I2C_ADDRESS, which.address);
}

class Ethtool {
  public:
    // 0, and `take` was given the answer; else an errno. `flags`: ETHTOOL_FLAG_STATS.
    int get(const std::string& device, std::uint8_t command,
            const std::function<void(nlmsghdr*)>& more,
            const std::function<void(const Attributes&)>& take, std::uint32_t flags = 0) {
        const auto put = [&](nlmsghdr* request) {
            nlattr* header = mnl_attr_nest_start(request, kHeader);
            mnl_attr_put_strz(request, ETHTOOL_A_HEADER_DEV_NAME, device.c_str());
            if (flags != 0) {
                mnl_attr_put_u32(request, ETHTOOL_A_HEADER_FLAGS, flags);
            }
            mnl_attr_nest_end(request, header);
            if (more) {
                more(request);
            }
        };
        return family_.ask(command, put,
                           [&](const Attributes& from, const nlmsghdr&) { take(from); });
    }

  private:
    GenericFamily family_{ETHTOOL_GENL_NAME, ETHTOOL_GENL_VERSION};
};

struct Question {
    const char* name;
    const char* source;
    std::uint8_t command;
    std::string (*text)(const Attributes&);
};
constexpr std::array kQuestions{
    Question{"rings", "ETHTOOL_MSG_RINGS_GET", ETHTOOL_MSG_RINGS_GET, rings},
    Question{"channels", "ETHTOOL_MSG_CHANNELS_GET", ETHTOOL_MSG_CHANNELS_GET, channels},
    Question{"interrupt coalescing", "ETHTOOL_MSG_COALESCE_GET", ETHTOOL_MSG_COALESCE_GET,
             coalescing},
    Question{"pause frames", "ETHTOOL_MSG_PAUSE_GET", ETHTOOL_MSG_PAUSE_GET, pause_frames},
    Question{"time stamping", "ETHTOOL_MSG_TSINFO_GET", ETHTOOL_MSG_TSINFO_GET, time_stamping},
    Question{"forward error correction", "ETHTOOL_MSG_FEC_GET", ETHTOOL_MSG_FEC_GET,
             error_correction},
    Question{"UDP tunnel ports", "ETHTOOL_MSG_TUNNEL_INFO_GET", ETHTOOL_MSG_TUNNEL_INFO_GET,
             tunnels},
};

// Appends a half page; 0, or an errno.
int read_half_page(Ethtool& ethtool, const std::string& device, const HalfPage& which,
                   std::vector<std::uint8_t>& bytes) {
    return ethtool.get(
        device, ETHTOOL_MSG_MODULE_EEPROM_GET,
        [&](nlmsghdr* request) { ask_for_eeprom(request, which); },
        [&](const Attributes& from) {
            if (const nlattr* data = attribute_of(from, ETHTOOL_A_MODULE_EEPROM_DATA)) {
                const auto* begin = static_cast<const std::uint8_t*>(mnl_attr_get_payload(data));
                bytes.insert(bytes.end(), begin, begin + mnl_attr_get_payload_len(data));
            }
        });
}

// The lower half of page 0 and what follows it.
struct ModuleMemory {
    std::vector<std::uint8_t> bytes;
    int error = 0;  // the first errno
};

ModuleMemory read_module(Ethtool& ethtool, const std::string& device) {
    ModuleMemory memory;
    for (const std::uint32_t offset : {0u, kHalfPage}) {
        const int failed = read_half_page(ethtool, device, {.offset = offset}, memory.bytes);
        memory.error = memory.error == 0 ? failed : memory.error;
    }
    return memory;
}

Fact module_fact(Ethtool& ethtool, const std::string& device, const char* name,
                 std::string (*text)(std::span<const std::uint8_t>)) {
    const ModuleMemory memory = read_module(ethtool, device);
    return fact_of(name, kEepromSource, memory.error, text(memory.bytes));
}

// The netlink of it is younger than the kernels that are still in use.
Fact spreading_fact(const std::string& device) {
    const Fd control(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ethtool_rxfh sizes{};
    sizes.cmd = ETHTOOL_GRSSH;
    ifreq request{};
    std::strncpy(request.ifr_name, device.c_str(), IFNAMSIZ - 1);
    request.ifr_data = reinterpret_cast<char*>(&sizes);
    const int error = ioctl(control.get(), SIOCETHTOOL, &request) < 0 ? errno : 0;
    std::string value;
    if (error == 0 && sizes.indir_size != 0) {
        std::vector<std::uint32_t> all(
            (sizeof(ethtool_rxfh) + sizes.indir_size * sizeof(std::uint32_t) + sizes.key_size) /
                sizeof(std::uint32_t) +
            1);
        std::memcpy(all.data(), &sizes, sizeof sizes);
        request.ifr_data = reinterpret_cast<char*>(all.data());
        if (ioctl(control.get(), SIOCETHTOOL, &request) == 0) {
            std::map<std::uint32_t, unsigned> shares;
            for (std::uint32_t i = 0; i < sizes.indir_size; ++i) {
                ++shares[all[sizeof(ethtool_rxfh) / sizeof(std::uint32_t) + i]];
            }
            std::vector<std::string> queues;
            for (const auto& [queue, share] : shares) {
                queues.push_back(fmt::format("{}: {}", queue, share));
            }
            value = fmt::format("{} entries, by queue {}; a key of {} bytes", sizes.indir_size,
                                fmt::join(queues, ", "), sizes.key_size);
        }
    }
    return fact_of("receive side scaling", "ETHTOOL_GRSSH", error, std::move(value));
}

// Reads the interrupts of the device itself, or of the device that its bus stands on (virtio).
Fact interrupts_fact(const std::string& device) {
    const std::string own = "/sys/class/net/" + device + "/device/";
    std::vector<std::string> all;
    for (const char* folder : {"msi_irqs", "../msi_irqs"}) {
        std::vector<int> numbers;
        std::error_code none;
        for (const auto& entry : fs::directory_iterator(own + folder, none)) {
            numbers.push_back(std::atoi(entry.path().filename().c_str()));
        }
        std::ranges::sort(numbers);
        for (const int irq : numbers) {
            const std::string place = fmt::format("/proc/irq/{}/", irq);
            const std::string there = first_word(place + "effective_affinity_list");
            all.push_back(fmt::format(
                "{}: {}", irq, there.empty() ? first_word(place + "smp_affinity_list") : there));
        }
        if (!all.empty()) {
            break;
        }
    }
    return fact_of("CPUs of its interrupts", own + "msi_irqs, /proc/irq", 0,
                   fmt::format("{}", fmt::join(all, ", ")));
}

// Sums of the lanes, which the kernel tells before those of each lane; nothing: not counted.
std::optional<double> total_of(const Attributes& from, std::uint16_t type) {
    const nlattr* found = attribute_of(from, type);
    std::uint64_t first = 0;
    if (found == nullptr || mnl_attr_get_payload_len(found) < sizeof first) {
        return std::nullopt;
    }
    std::memcpy(&first, mnl_attr_get_payload(found), sizeof first);
    return static_cast<double>(first);
}

void add_fec_readings(Ethtool& ethtool, const std::string& device, std::vector<Reading>& all) {
    ethtool.get(
        device, ETHTOOL_MSG_FEC_GET, nullptr,
        [&](const Attributes& from) {
            const Attributes counts = nested(attribute_of(from, ETHTOOL_A_FEC_STATS));
            for (const auto& [name, type] :
                 {std::pair{"FEC corrected blocks", ETHTOOL_A_FEC_STAT_CORRECTED},
                  std::pair{"FEC uncorrectable blocks", ETHTOOL_A_FEC_STAT_UNCORR},
                  std::pair{"FEC corrected bits", ETHTOOL_A_FEC_STAT_CORR_BITS}}) {
                if (const auto total = total_of(counts, type)) {
                    all.push_back({.name = name,
                                   .unit = "",
                                   .begin = total,
                                   .end = std::nullopt,
                                   .source = "ETHTOOL_MSG_FEC_GET"});
                }
            }
        },
        ETHTOOL_FLAG_STATS);
}

}  // namespace

std::vector<Reading> read_link_readings(const std::string& device) {
    std::vector<Reading> all;
    Ethtool ethtool;
    const ModuleMemory memory = read_module(ethtool, device);
    std::vector<std::uint8_t> monitors;
    if (const auto which = monitor_page(memory.bytes)) {
        read_half_page(ethtool, device,
                       {.offset = which->offset, .page = which->page, .address = which->address},
                       monitors);
    }
    for (const ModuleMonitor& monitor : module_monitors(memory.bytes, monitors)) {
        all.push_back({.name = monitor.name,
                       .unit = monitor.unit,
                       .begin = monitor.value,
                       .end = std::nullopt,
                       .source = kEepromSource});
    }
    add_fec_readings(ethtool, device, all);
    return all;
}

std::vector<Fact> read_module_facts(const std::string& device, Serials serials) {
    Ethtool ethtool;
    const ModuleMemory memory = read_module(ethtool, device);
    std::vector<Fact> facts;
    for (const auto& [name, value] : module_identity(memory.bytes)) {
        facts.push_back(fact_of(name, kEepromSource, 0, value));
    }
    if (serials == Serials::kAsked) {
        facts.push_back(
            fact_of("serial number", kEepromSource, memory.error, module_serial(memory.bytes)));
    }
    return facts;
}

Fact read_module_serial(const std::string& device) {
    Ethtool ethtool;
    return module_fact(ethtool, device, "serial number of the plugged module", module_serial);
}

std::vector<Fact> read_nic(const std::string& device) {
    std::vector<Fact> facts;
    Ethtool ethtool;
    for (const Question& question : kQuestions) {
        std::string value;
        const int error = ethtool.get(device, question.command, nullptr,
                                      [&](const Attributes& from) { value = question.text(from); });
        facts.push_back(fact_of(question.name, question.source, error, std::move(value)));
    }
    facts.push_back(module_fact(ethtool, device, "plugged module", module_text));
    facts.push_back(spreading_fact(device));
    facts.push_back(interrupts_fact(device));
    return facts;
}

}  // namespace pathproof::fingerprint
