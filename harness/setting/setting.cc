#include "harness/setting/setting.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace pathproof::setting {
namespace {

using agent::HostChange;
using Kind = HostChange::Kind;

constexpr std::string_view kIpv6Prefix = "ip6 ";

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        lines.push_back(line);
    }
    return lines;
}

std::vector<const char*> own_chains(const std::string& table) {
    if (table == "nat") {
        return {"PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"};
    }
    if (table == "filter") {
        return {"INPUT", "FORWARD", "OUTPUT"};
    }
    if (table == "raw") {
        return {"PREROUTING", "OUTPUT"};
    }
    if (table == "mangle") {
        return {"PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"};
    }
    return {};
}

// ":INPUT DROP [0:0]" of the lines, where they give that chain a policy.
std::string policy_line(const std::string& chain, const std::vector<std::string>& lines) {
    for (const std::string& line : lines) {
        if (line.starts_with(":" + chain + " ")) {
            return line;
        }
    }
    return fmt::format(":{} ACCEPT [0:0]", chain);
}

// Returns the settings of a host with these roles; the last one wins among those with the same id.
Settings settings_of(const Settings& settings, const std::vector<HostRole>& roles) {
    Settings own;
    for (const Setting& setting : settings) {
        if (std::ranges::count(roles, setting.host) == 0) {
            continue;
        }
        std::erase_if(own, [&](const Setting& earlier) {
            return earlier.id == setting.id && earlier.host == setting.host;
        });
        own.push_back(setting);
    }
    return own;
}

void amend(std::string& line, const Settings& settings) {
    for (const Setting& setting : settings) {
        if (!setting.amends || line.find(setting.amends->others) != std::string::npos) {
            continue;
        }
        const auto& [words, others] = *setting.amends;
        if (const std::size_t at = line.find(words); at != std::string::npos) {
            line.replace(at, words.size(), others);
        }
    }
}

std::string amended(const std::string& text, const Settings& settings) {
    std::string all;
    for (std::string line : lines_of(text)) {
        amend(line, settings);
        all += line + "\n";
    }
    return all;
}

HostChange named(HostChange change, const Names& names) {
    for (std::string* text : {&change.device, &change.name, &change.value, &change.undo}) {
        *text = with_names(*text, names);
    }
    return change;
}

Setting made(std::string id, HostRole host, HostChange change, std::string command) {
    return {.id = id.empty() ? command : std::move(id),
            .host = host,
            .changes = {std::move(change)},
            .command = std::move(command)};
}

}  // namespace

Settings both(Settings settings, const Settings& more) {
    settings.insert(settings.end(), more.begin(), more.end());
    return settings;
}

bool has(const Settings& settings, const std::string& id) {
    return std::ranges::find(settings, id, &Setting::id) != settings.end();
}

Setting sysctl(HostRole host, const std::string& name, const std::string& value,
               const std::string& id) {
    return made(id, host, {.kind = Kind::kSysctl, .name = name, .value = value},
                fmt::format("sysctl -w {}={}", name, value));
}

std::string bare_sysctl(const std::string& name) {
    return name.substr(name.rfind('.') + 1);
}

Setting feature(HostRole host, const std::string& device, const std::string& feature, bool on,
                const std::string& id) {
    const char* const value = on ? "on" : "off";
    return made(id, host,
                {.kind = Kind::kFeature, .device = device, .name = feature, .value = value},
                fmt::format("ethtool -K {} {} {}", device, feature, value));
}

Setting steering(HostRole host, const std::string& device, const std::string& cpu_mask) {
    return made("", host, {.kind = Kind::kSteering, .device = device, .value = cpu_mask},
                fmt::format("echo {} > /sys/class/net/{}/queues/rx-0/rps_cpus", cpu_mask, device));
}

std::string table_name(const std::string& table, frame::Family family) {
    return family == frame::Family::kIpv4 ? table : std::string(kIpv6Prefix) + table;
}

frame::Family family_of(const std::string& name) {
    return name.starts_with(kIpv6Prefix) ? frame::Family::kIpv6 : frame::Family::kIpv4;
}

std::string bare_table(const std::string& name) {
    return family_of(name) == frame::Family::kIpv4 ? name : name.substr(kIpv6Prefix.size());
}

Setting rules(HostRole host, const std::string& id, const std::string& table,
              const std::string& lines, const std::string& command, frame::Family family) {
    return made(id, host, {.kind = Kind::kRules, .name = table_name(table, family), .value = lines},
                command);
}

Setting nft_table(HostRole host, const std::string& id, const std::string& table,
                  const std::string& text, frame::Family family) {
    const char* const ip = family == frame::Family::kIpv4 ? "ip" : "ip6";
    return made(id, host,
                {.kind = Kind::kNft, .name = fmt::format("{} {}", ip, table), .value = text},
                "nft -f -");
}

Setting ipvs(HostRole host, const std::string& id, const std::string& services) {
    Setting setting = made(id, host, {.kind = Kind::kIpvs, .value = services}, "ipvsadm --restore");
    setting.needs = {
        .probe = {"ipvsadm", "-L", "-n"}, .package = "ipvsadm", .kernel = "IPVS (module ip_vs)"};
    return setting;
}

Setting links(HostRole host, const std::string& id, const std::string& device,
              const std::vector<std::pair<std::string, std::string>>& commands) {
    Setting setting{.id = id, .host = host, .changes = {}, .command = ""};
    for (const auto& [command, undo] : commands) {
        setting.changes.push_back(
            {.kind = Kind::kIp, .device = device, .value = command, .undo = undo});
        setting.command += (setting.command.empty() ? "ip " : "; ip ") + command;
    }
    return setting;
}

std::string with_names(std::string text, const Names& names) {
    for (const auto& [name, value] : names) {
        for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos;) {
            text.replace(at, name.size(), value);
            at += value.size();
        }
    }
    return text;
}

std::vector<HostChange> merged(const Settings& settings, const std::vector<HostRole>& roles,
                               const Names& names) {
    const Settings own = settings_of(settings, roles);
    std::vector<HostChange> all;
    for (const Setting& setting : own) {
        for (const HostChange& each : setting.changes) {
            HostChange change = named(each, names);
            if (change.kind == Kind::kRules) {
                change.value = amended(change.value, own);
            }
            const auto known = std::ranges::find_if(
                all, [&](const HostChange& one) { return same_thing(one, change); });
            if (known == all.end()) {
                all.push_back(std::move(change));
            } else if (change.kind == Kind::kRules) {
                known->value += change.value;
            } else {
                *known = std::move(change);
            }
        }
    }
    for (HostChange& change : all) {
        if (change.kind == Kind::kRules) {
            change.value = whole_table(bare_table(change.name), change.value);
        }
    }
    return all;
}

std::string table_head(const std::string& table) {
    std::string head = "*" + table + "\n";
    for (const char* chain : own_chains(table)) {
        head += policy_line(chain, {}) + "\n";
    }
    return head;
}

std::string whole_table(const std::string& table, const std::string& lines) {
    const std::vector<std::string> all = lines_of(lines);
    const std::vector<const char*> own = own_chains(table);
    std::string text = "*" + table + "\n";
    for (const char* chain : own) {
        text += policy_line(chain, all) + "\n";
    }
    for (const std::string& line : all) {
        const bool is_policy = std::ranges::any_of(
            own, [&](const char* chain) { return line.starts_with(fmt::format(":{} ", chain)); });
        text += is_policy ? "" : line + "\n";
    }
    return text + "COMMIT\n";
}

HostChange taken_back(const HostChange& change) {
    HostChange back = change;
    back.value.clear();
    return back;
}

bool same_thing(const HostChange& one, const HostChange& other) {
    if (one.kind != other.kind || one.device != other.device) {
        return false;
    }
    return one.kind == Kind::kIp ? one.undo == other.undo : one.name == other.name;
}

}  // namespace pathproof::setting
