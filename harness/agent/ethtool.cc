#include "harness/agent/ethtool.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <thread>

#include "dataplane/base/file.h"
#include "harness/agent/feature_names.h"
#include "harness/agent/feature_trial.h"
#include "harness/agent/interfaces.h"
#include "harness/agent/operations.h"
#include "harness/agent/socket.h"

namespace pathproof::agent {
namespace {

// A command of linux/ethtool.h: a fixed head followed by an array that the kernel fills or reads.
template <typename Head>
class Command {
  public:
    Command(std::uint32_t number, std::size_t tail_bytes)
        : words_((sizeof(Head) + tail_bytes + 7) / 8) {
        std::memcpy(words_.data(), &number, sizeof number);
    }
    Head* operator->() { return reinterpret_cast<Head*>(words_.data()); }
    template <typename Item>
    Item* tail() {
        return reinterpret_cast<Item*>(reinterpret_cast<char*>(words_.data()) + sizeof(Head));
    }
    void* data() { return words_.data(); }

  private:
    std::vector<std::uint64_t> words_;
};

// A device of the calling thread's namespace, ready for ioctls.
class Device {
  public:
    static Result<Device> open(const std::string& name) {
        TRY(require_interface(name));
        Fd control = TRY(open_socket(AF_INET, SOCK_DGRAM, 0));
        return Device(name, std::move(control));
    }

    const std::string& name() const { return name_; }

    // The ioctl's value (SFEATURES returns flags), or minus errno.
    int ethtool(void* command) {
        ifreq request = named_request();
        request.ifr_data = static_cast<char*>(command);
        return control(SIOCETHTOOL, request);
    }

    std::optional<ifreq> ask(unsigned long number) {
        ifreq request = named_request();
        if (control(number, request) < 0) {
            return std::nullopt;
        }
        return request;
    }

  private:
    Device(std::string name, Fd control) : name_(std::move(name)), control_(std::move(control)) {}

    ifreq named_request() const {
        ifreq request{};
        std::strncpy(request.ifr_name, name_.c_str(), IFNAMSIZ - 1);
        return request;
    }

    int control(unsigned long number, ifreq& request) {
        const int value = ioctl(control_.get(), number, &request);
        return value < 0 ? -errno : value;
    }

    std::string name_;
    Fd control_;
};

// The number of strings in a set; 0 when the driver has none.
std::uint32_t string_count(Device& device, std::uint32_t set) {
    Command<ethtool_sset_info> command(ETHTOOL_GSSET_INFO, sizeof(std::uint32_t));
    command->sset_mask = 1ULL << set;
    if (device.ethtool(command.data()) < 0 || command->sset_mask == 0) {
        return 0;
    }
    return *command.tail<std::uint32_t>();
}

Result<std::vector<std::string>> strings(Device& device, std::uint32_t set) {
    const std::uint32_t count = string_count(device, set);
    if (count == 0) {
        return std::vector<std::string>();
    }
    // The count may grow between the two calls (a statistic for each queue): leave room for twice
    // as many.
    Command<ethtool_gstrings> command(ETHTOOL_GSTRINGS, std::size_t{2} * count * ETH_GSTRING_LEN);
    command->string_set = set;
    command->len = count;
    if (const int outcome = device.ethtool(command.data()); outcome < 0) {
        return system_failure(
            fmt::format("read the names of {}'s string set {}", device.name(), set), -outcome);
    }
    std::vector<std::string> names;
    const char* text = command.tail<char>();
    for (std::uint32_t i = 0; i < std::min(count, command->len); ++i) {
        const char* name = text + std::size_t{i} * ETH_GSTRING_LEN;
        names.emplace_back(name, strnlen(name, ETH_GSTRING_LEN));
    }
    return names;
}

// The feature bits of a device beside their names, by bit number.
struct FeatureTable {
    std::vector<std::string> names;  // empty: a bit that the kernel does not use
    std::vector<ethtool_get_features_block> blocks;

    bool bit(std::uint32_t ethtool_get_features_block::*mask, std::size_t index) const {
        return index / 32 < blocks.size() && (blocks[index / 32].*mask >> (index % 32) & 1) != 0;
    }
    bool active(std::size_t index) const { return bit(&ethtool_get_features_block::active, index); }
    bool requested(std::size_t index) const {
        return bit(&ethtool_get_features_block::requested, index);
    }
    bool available(std::size_t index) const {
        return bit(&ethtool_get_features_block::available, index);
    }
    // Returns whether `ethtool -k` marks the feature "[fixed]".
    bool fixed(std::size_t index) const {
        return !available(index) || bit(&ethtool_get_features_block::never_changed, index);
    }
};

Status read_blocks(Device& device, FeatureTable& table) {
    const auto count = static_cast<std::uint32_t>((table.names.size() + 31) / 32);
    Command<ethtool_gfeatures> command(ETHTOOL_GFEATURES,
                                       count * sizeof(ethtool_get_features_block));
    command->size = count;
    if (const int outcome = device.ethtool(command.data()); outcome < 0) {
        return system_failure(fmt::format("read the features of {}", device.name()), -outcome);
    }
    const auto* blocks = command.tail<ethtool_get_features_block>();
    table.blocks.assign(blocks, blocks + std::min(count, command->size));
    return {};
}

Result<FeatureTable> read_table(Device& device) {
    std::vector<std::string> names = TRY(strings(device, ETH_SS_FEATURES));
    if (names.empty()) {
        return fail(ErrorCode::kNotSupported, "device {} has no offload features", device.name());
    }
    FeatureTable table{.names = std::move(names), .blocks = {}};
    TRY(read_blocks(device, table));
    return table;
}

Status write_features(Device& device, const FeatureTable& table,
                      const std::vector<FeatureRequest>& wishes) {
    const auto count = static_cast<std::uint32_t>(table.blocks.size());
    Command<ethtool_sfeatures> command(ETHTOOL_SFEATURES,
                                       count * sizeof(ethtool_set_features_block));
    command->size = count;
    auto* blocks = command.tail<ethtool_set_features_block>();
    for (const FeatureRequest& wish : wishes) {
        const std::uint32_t bit = 1u << (wish.index % 32);
        blocks[wish.index / 32].valid |= bit;
        blocks[wish.index / 32].requested |= wish.on ? bit : 0;
    }
    // A positive value (ETHTOOL_F_WISH and others) says that a wish was not met; which one, the
    // table tells.
    if (const int outcome = device.ethtool(command.data()); outcome < 0) {
        return system_failure(fmt::format("set features of {}", device.name()), -outcome);
    }
    return {};
}

Status refuse_fixed(const Device& device, const FeatureTable& table,
                    const std::vector<FeatureRequest>& requests) {
    for (const FeatureRequest& request : requests) {
        if (request.origin == FeatureRequest::Origin::kSingle && table.fixed(request.index) &&
            table.active(request.index) != request.on) {
            return fail(ErrorCode::kNotSupported,
                        "feature {} of {} is {} [fixed] and cannot be turned {}", request.word,
                        device.name(), on_or_off(!request.on), on_or_off(request.on));
        }
    }
    return {};
}

Failure refusal(const Device& device, const std::string& feature, bool on) {
    return fail(ErrorCode::kNotSupported,
                "the kernel refused to turn feature {} of {} {}; it may depend on another feature "
                "or on the "
                "driver's set-up ('dmesg' may say why)",
                feature, device.name(), on_or_off(on));
}

// Turning a group on means at least one member, as drivers have alternatives (tx-checksum-ipv4 or
// tx-checksum-ip-generic); turning it off means every member that can be.
Status refuse_unmet_group(const Device& device, const FeatureTable& table,
                          const std::vector<FeatureRequest>& members) {
    const bool wants_on = members.front().on;
    const auto is_on = [&](const FeatureRequest& member) { return table.active(member.index); };
    const auto changeable = [&](const FeatureRequest& member) {
        return !table.fixed(member.index);
    };
    const bool some_on = std::any_of(members.begin(), members.end(), is_on);
    const bool some_changeable = std::any_of(members.begin(), members.end(), changeable);
    if (wants_on ? !some_on : some_on && !some_changeable) {
        return fail(ErrorCode::kNotSupported, "no feature behind '{}' of {} can be turned {}",
                    members.front().word, device.name(), on_or_off(wants_on));
    }
    for (const FeatureRequest& member : members) {
        if (!wants_on && changeable(member) && is_on(member)) {
            return refusal(device, table.names[member.index], wants_on);
        }
    }
    return {};
}

// The first request that was not met: a single feature, or a group.
Status refuse_unmet(const Device& device, const FeatureTable& table,
                    const std::vector<FeatureRequest>& requests) {
    std::map<std::string, std::vector<FeatureRequest>> groups;
    for (const FeatureRequest& request : requests) {
        if (request.origin == FeatureRequest::Origin::kGroup) {
            groups[request.word].push_back(request);
        } else if (table.active(request.index) != request.on) {
            return refusal(device, request.word, request.on);
        }
    }
    for (const auto& [word, members] : groups) {
        TRY(refuse_unmet_group(device, table, members));
    }
    return {};
}

std::vector<Feature> features_of(const FeatureTable& table) {
    std::vector<Feature> features;
    for (std::size_t index = 0; index < table.names.size(); ++index) {
        if (!table.names[index].empty()) {
            features.push_back({table.names[index], table.active(index), table.requested(index),
                                table.available(index), table.fixed(index)});
        }
    }
    return features;
}

// Asks for the wishes that stood before, for every feature that may be asked for.
Status put_back(Device& device, const FeatureTable& before) {
    std::vector<FeatureRequest> wishes;
    for (std::size_t index = 0; index < before.names.size(); ++index) {
        if (!before.fixed(index)) {
            wishes.push_back({index, before.requested(index)});
        }
    }
    return write_features(device, before, wishes);
}

void read_driver(Device& device, DeviceInfo& info) {
    Command<ethtool_drvinfo> command(ETHTOOL_GDRVINFO, 0);
    if (device.ethtool(command.data()) < 0) {
        return;  // lo has no driver
    }
    const auto text = [](const char* field, std::size_t size) {
        return std::string(field, strnlen(field, size));
    };
    info.driver = text(command->driver, sizeof command->driver);
    info.driver_version = text(command->version, sizeof command->version);
    info.firmware = text(command->fw_version, sizeof command->fw_version);
    info.bus = text(command->bus_info, sizeof command->bus_info);
}

void read_sysfs(DeviceInfo& info) {
    info.srcversion = first_word("/sys/module/" + info.driver + "/srcversion");
    const std::string pci = "/sys/bus/pci/devices/" + info.bus + "/";
    PciIds ids{first_word(pci + "vendor"), first_word(pci + "device"),
               first_word(pci + "subsystem_vendor"), first_word(pci + "subsystem_device")};
    if (!info.bus.empty() && info.bus.find('/') == std::string::npos && !ids.vendor.empty()) {
        info.pci = std::move(ids);
        info.pcie = read_pcie_link(pci);
        info.numa_node = read_numa_node(pci);
    }
}

// With a carrier the kernel opens a device's queues up to a second later (linkwatch), and drops what
// is sent before.
void wait_for_queues(Device& device) {
    constexpr auto kEach = std::chrono::milliseconds(20);
    for (auto left = std::chrono::milliseconds(2'000); left.count() > 0; left -= kEach) {
        const auto flags = device.ask(SIOCGIFFLAGS);
        if (!flags || (flags->ifr_flags & IFF_UP) == 0 || (flags->ifr_flags & IFF_RUNNING) != 0) {
            return;
        }
        std::this_thread::sleep_for(kEach);
    }
}

void read_link(Device& device, DeviceInfo& info) {
    ethtool_value link{.cmd = ETHTOOL_GLINK, .data = 0};
    info.link_up = device.ethtool(&link) >= 0 && link.data != 0;
    if (info.link_up) {
        wait_for_queues(device);
    }
    // The first call, without room for link modes, answers with minus the number of words they
    // take; this handshake is described beside struct ethtool_link_settings.
    Command<ethtool_link_settings> probe(ETHTOOL_GLINKSETTINGS, 0);
    if (device.ethtool(probe.data()) < 0 || probe->link_mode_masks_nwords >= 0) {
        return;
    }
    const auto words = static_cast<std::int8_t>(-probe->link_mode_masks_nwords);
    Command<ethtool_link_settings> command(ETHTOOL_GLINKSETTINGS,
                                           std::size_t{3} * words * sizeof(std::uint32_t));
    command->link_mode_masks_nwords = words;
    if (device.ethtool(command.data()) >= 0 &&
        command->speed != static_cast<std::uint32_t>(SPEED_UNKNOWN)) {
        info.speed_mbps = command->speed;
    }
}

void read_addresses(Device& device, DeviceInfo& info) {
    if (const auto answer = device.ask(SIOCGIFHWADDR)) {
        std::memcpy(info.mac.bytes.data(), answer->ifr_hwaddr.sa_data, info.mac.bytes.size());
    }
    if (const auto answer = device.ask(SIOCGIFMTU)) {
        info.mtu = static_cast<std::uint32_t>(answer->ifr_mtu);
    }
}

Status read_statistics(Device& device, DeviceInfo& info) {
    const std::vector<std::string> names = TRY(strings(device, ETH_SS_STATS));
    if (names.empty()) {
        return {};
    }
    Command<ethtool_stats> command(ETHTOOL_GSTATS, 2 * names.size() * sizeof(std::uint64_t));
    command->n_stats = static_cast<std::uint32_t>(names.size());
    if (const int outcome = device.ethtool(command.data()); outcome < 0) {
        return system_failure(fmt::format("read the statistics of {}", device.name()), -outcome);
    }
    if (command->n_stats != names.size()) {
        return fail(ErrorCode::kUnavailable,
                    "the statistics of {} changed while they were read; try again", device.name());
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
        info.statistics.emplace_back(names[i], command.tail<std::uint64_t>()[i]);
    }
    return {};
}

}  // namespace

const char* on_or_off(bool on) {
    return on ? "on" : "off";
}

std::string state_of(const Feature& feature) {
    const char* const is = on_or_off(feature.active);
    if (feature.never_changed) {
        return fmt::format("{} [fixed]", is);
    }
    if (feature.active == feature.requested) {
        return is;
    }
    return fmt::format("{} [requested {}]", is, on_or_off(feature.requested));
}

const Feature* feature_named(const std::vector<Feature>& features, const std::string& name) {
    const auto found = std::ranges::find(features, name, &Feature::name);
    return found == features.end() ? nullptr : &*found;
}

Result<std::vector<Feature>> read_features(const std::string& name) {
    Device device = TRY(Device::open(name));
    const FeatureTable table = TRY(read_table(device));
    return features_of(table);
}

Result<std::vector<FeatureChange>> change_features(
    const std::string& name, const std::vector<std::pair<std::string, bool>>& wanted) {
    Device device = TRY(Device::open(name));
    const FeatureTable before = TRY(read_table(device));
    const std::vector<FeatureRequest> requests =
        TRY(doing(expand_features(before.names, wanted), "device {}", name));
    TRY(refuse_fixed(device, before, requests));
    std::vector<FeatureRequest> wishes;
    std::ranges::copy_if(requests, std::back_inserter(wishes), [&](const FeatureRequest& request) {
        return !before.fixed(request.index);
    });
    if (!wishes.empty()) {
        TRY(write_features(device, before, wishes));
    }
    FeatureTable after{.names = before.names, .blocks = {}};
    TRY(read_blocks(device, after));
    if (const Status met = refuse_unmet(device, after, requests); !met) {
        const Status restored = put_back(device, before);
        return restored ? pass_on(met.error())
                        : fail(met.error(), "{} could not be put back as it was ({})", name,
                               restored.error().message);
    }
    auto changes = differences(features_of(before), features_of(after));
    for (const FeatureRequest& request : requests) {
        if (const auto asked =
                std::ranges::find(changes, before.names[request.index], &FeatureChange::name);
            asked != changes.end()) {
            asked->asked = true;
        }
    }
    return changes;
}

Status request_features(const std::string& name,
                        const std::vector<std::pair<std::string, bool>>& wanted) {
    Device device = TRY(Device::open(name));
    const FeatureTable table = TRY(read_table(device));
    std::vector<FeatureRequest> wishes;
    for (const auto& [feature, on] : wanted) {
        const auto found = std::ranges::find(table.names, feature);
        const auto index = static_cast<std::size_t>(found - table.names.begin());
        if (found != table.names.end() && !table.fixed(index)) {
            wishes.push_back({index, on});
        }
    }
    return wishes.empty() ? Status() : write_features(device, table, wishes);
}

std::optional<frame::MacAddress> read_permanent_address(const std::string& name) {
    Result<Device> device = Device::open(name);
    if (!device) {
        return std::nullopt;
    }
    Command<ethtool_perm_addr> command(ETHTOOL_GPERMADDR, 32);  // MAX_ADDR_LEN of the kernel
    command->size = 32;
    frame::MacAddress permanent;
    if (device->ethtool(command.data()) < 0 || command->size != permanent.bytes.size()) {
        return std::nullopt;
    }
    std::memcpy(permanent.bytes.data(), command.tail<char>(), permanent.bytes.size());
    return permanent != frame::MacAddress{} ? std::optional(permanent) : std::nullopt;
}

Result<DeviceInfo> read_device(const std::string& name) {
    Device device = TRY(Device::open(name));
    DeviceInfo info;
    info.name = name;
    read_driver(device, info);
    read_sysfs(info);
    read_link(device, info);
    read_addresses(device, info);
    TRY(read_statistics(device, info));
    return info;
}

Result<std::vector<Feature>> Client::features(const std::string& device) {
    return impl_->ask<std::vector<Feature>>("features", device);
}

Status Client::request_features(const std::string& device,
                                const std::vector<std::pair<std::string, bool>>& wanted) {
    return impl_->ask<void>("request_features", device, wanted);
}

Result<DeviceInfo> Client::device(const std::string& device) {
    return impl_->ask<DeviceInfo>("device", device);
}

void add_features(Operations& operations) {
    operations.add("features", read_features);
    operations.add("device", read_device);
}

}  // namespace pathproof::agent
