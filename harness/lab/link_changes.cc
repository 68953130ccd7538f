#include "harness/lab/link_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string/replace.hpp>
#include <iterator>
#include <sstream>

#include "harness/agent/device_info.h"
#include "harness/process/foreign.h"

namespace pathproof::lab {

using agent::HostChange;
using Kind = HostChange::Kind;
using Allowed = HostChange::Allowed;

HostChange ip_change(const std::string& device, std::string command, std::string undo,
                     Allowed allowed) {
    return {.kind = Kind::kIp,
            .device = device,
            .value = std::move(command),
            .undo = std::move(undo),
            .allowed = allowed};
}

HostChange address_change(const std::string& device, const std::string& prefix) {
    // Without duplicate address detection an address of IPv6 can be used at once.
    const char* const at_once = prefix.find(':') == std::string::npos ? "" : " nodad";
    return ip_change(device, fmt::format("address add {} dev {}{}", prefix, device, at_once),
                     fmt::format("address delete {} dev {}", prefix, device), Allowed::kIsThere);
}

HostChange neighbour_change(const std::string& device, const frame::IpAddress& who,
                            const frame::MacAddress& mac) {
    return ip_change(device,
                     fmt::format("neigh add {} lladdr {} nud permanent dev {}", to_string(who),
                                 to_string(mac), device),
                     fmt::format("neigh delete {} dev {}", to_string(who), device));
}

HostChange route_change(const std::string& device, const std::string& network,
                        const frame::IpAddress& by, const std::string& options) {
    const std::string what = fmt::format("{} via {} dev {}", network, to_string(by), device);
    return ip_change(device,
                     fmt::format("route add {}{}{}", what, options.empty() ? "" : " ", options),
                     "route delete " + what);
}

HostChange sysctl_change(std::string name, std::string value) {
    return {.kind = Kind::kSysctl,
            .name = std::move(name),
            .value = std::move(value),
            .allowed = Allowed::kIsMissing};
}

std::vector<HostChange> as_changes(const std::string& commands, const std::string& device) {
    std::vector<HostChange> changes;
    for (const std::string& line : process::lines_of(commands)) {
        std::istringstream in(line);
        const std::vector<std::string> words{std::istream_iterator<std::string>(in), {}};
        if (words.size() < 4) {
            continue;
        }
        const auto after = [&](const char* word) {
            const auto at = std::ranges::find(words, word);
            return at == words.end() || at + 1 == words.end() ? std::string() : at[1];
        };
        const std::string dev = after("dev");
        std::string undo = fmt::format("{} delete {} dev {}", words[0], words[2], dev);
        std::string from = dev;
        if (words[0] == "link") {
            // A link is seen from itself once it is there; when it is gone, its undoing is done.
            from = words[1] == "set" ? words[2] : device;
            undo = words[1] == "add" ? "link delete dev " + after("name")
                                     : fmt::format("link set dev {} down", words[2]);
        } else if (words[0] == "route") {
            undo = fmt::format("route delete {} via {} dev {}", words[2], after("via"), dev);
        }
        changes.push_back(ip_change(from, line, undo,
                                    words[0] == "address" ? Allowed::kIsThere : Allowed::kNothing));
    }
    return changes;
}

setting::Setting links_of(const TopologyHost& host) {
    // Said again they find what they said before.
    std::string commands = "link set lo up\n" + host.commands;
    for (const char* object : {"address", "route"}) {
        boost::replace_all(commands, fmt::format("{} add ", object),
                           fmt::format("{} replace ", object));
    }
    return {.id = "links of " + host.netns,
            .host = host.roles.front(),
            .changes = {ip_change("lo", std::move(commands), "address delete 127.0.0.1/8 dev lo")},
            .command = ""};
}

Settings no_super_frames(HostRole host, const std::string& device) {
    Settings settings;
    for (const char* word : kSuperFrameWords) {
        settings.push_back(setting::feature(host, device, word, false));
    }
    return settings;
}

Result<std::vector<HostChange>> off_for_virtual(agent::Client& host, const std::string& device,
                                                const std::vector<std::string>& features) {
    constexpr std::array kVirtual{"veth", "virtio_net", "tun"};
    std::vector<HostChange> changes;
    const agent::DeviceInfo info = TRY(host.device(device));
    if (std::ranges::find(kVirtual, info.driver) == kVirtual.end()) {
        return changes;
    }
    for (const agent::Feature& feature : TRY(host.features(device))) {
        const bool is_meant = std::ranges::any_of(features, [&](const std::string& part) {
            return feature.name.find(part) != std::string::npos;
        });
        if (is_meant && feature.active && feature.available && !feature.never_changed) {
            changes.push_back(
                {.kind = Kind::kFeature, .device = device, .name = feature.name, .value = "off"});
        }
    }
    return changes;
}

}  // namespace pathproof::lab
