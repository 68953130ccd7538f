#include "harness/lab/interface_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/lab/undo.h"
#include "harness/process/json_text.h"
#include "harness/process/program.h"

namespace pathproof::lab {
namespace {

using nlohmann::json;

bool has_flag(const json& thing, const char* flag) {
    const json& flags = process::part(thing, "flags");
    return flags.is_array() && std::ranges::find(flags, json(flag)) != flags.end();
}

void add_address(const json& address, const std::string& device, std::vector<std::string>& lines) {
    constexpr std::uint64_t kForEver = 0xffffffff;
    const json& length = process::part(address, "prefixlen");
    const json& lifetime = process::part(address, "valid_life_time");
    // Link-local addresses, and those that others assign and withdraw (DHCP, router
    // advertisements), come by themselves.
    const bool lasting = lifetime.is_null() || lifetime == kForEver;
    const std::string scope = process::text_in(address, "scope");
    if (!lasting || !length.is_number_unsigned() || scope == "link") {
        return;
    }
    const std::string local = process::text_in(address, "local");
    const std::string peer = process::text_in(address, "address");
    const std::string broadcast = process::text_in(address, "broadcast");
    const std::string label = process::text_in(address, "label");
    std::string line = fmt::format("address add {}{}/{}", local,
                                   peer.empty() ? "" : " peer " + peer, length.get<unsigned>());
    line += broadcast.empty() ? "" : " broadcast " + broadcast;
    line += scope.empty() || scope == "global" ? "" : " scope " + scope;
    line += label.empty() || label == device ? "" : " label " + label;
    line += process::part(address, "noprefixroute") == true ? " noprefixroute" : "";
    line += process::text_in(address, "family") == "inet6" ? " nodad" : "";
    lines.push_back(fmt::format("{} dev {}", line, device));
}

void add_neighbour(const json& neighbour, const std::string& device,
                   std::vector<std::string>& lines) {
    const std::string mac = process::text_in(neighbour, "lladdr");
    if (!mac.empty()) {
        lines.push_back(fmt::format("neigh replace {} lladdr {} nud permanent dev {}",
                                    process::text_in(neighbour, "dst"), mac, device));
    }
}

std::string number_of(const json& route, const char* key, const char* word) {
    const json& number = process::part(route, key);
    return number.is_number_unsigned() ? fmt::format(" {} {}", word, number.get<std::uint64_t>())
                                       : std::string();
}

std::string text_of(const json& route, const char* key, const char* word) {
    const std::string text = process::text_in(route, key);
    return text.empty() ? text : fmt::format(" {} {}", word, text);
}

void add_route(const json& route, const std::string& device, std::vector<std::string>& lines) {
    const std::string protocol = process::text_in(route, "protocol");
    if (!route.is_object() || protocol == "kernel" || protocol == "ra" || protocol == "dhcp") {
        return;
    }
    const std::string type = process::text_in(route, "type");
    std::string line =
        fmt::format("route add {}{}{} dev {}", type.empty() ? "" : type + " ",
                    process::text_in(route, "dst"), text_of(route, "gateway", "via"), device);
    const std::string scope = process::text_in(route, "scope");
    const std::string table = process::text_in(route, "table");
    line += scope == "global" ? "" : text_of(route, "scope", "scope");
    line += text_of(route, "prefsrc", "src") + number_of(route, "metric", "metric");
    line += table == "main" ? "" : text_of(route, "table", "table");
    line += protocol == "boot" ? "" : text_of(route, "protocol", "proto");
    line += has_flag(route, "onlink") ? " onlink" : "";
    for (const json& metrics : process::part(route, "metrics")) {
        line += number_of(metrics, "mtu", "mtu") + number_of(metrics, "advmss", "advmss");
    }
    lines.push_back(std::move(line));
}

}  // namespace

std::vector<std::string> settings_in(const InterfaceText& text) {
    const json devices = process::parse_foreign(text.addresses);
    if (!devices.is_array() || devices.empty() || !devices[0].is_object()) {
        return {};
    }
    const json& device = devices[0];
    const std::string dev = process::text_in(device, "ifname");
    std::vector<std::string> lines;
    if (const json& mtu = process::part(device, "mtu"); mtu.is_number_unsigned()) {
        lines.push_back(fmt::format("link set dev {} mtu {}", dev, mtu.get<unsigned>()));
    }
    // Said only where it differs.
    if (!process::text_in(device, "permaddr").empty()) {
        lines.push_back(
            fmt::format("link set dev {} address {}", dev, process::text_in(device, "address")));
    }
    for (const auto& [flag, words] : {std::pair{"PROMISC", "promisc on"},
                                      {"ALLMULTI", "allmulticast on"},
                                      {"NOARP", "arp off"}}) {
        if (has_flag(device, flag)) {
            lines.push_back(fmt::format("link set dev {} {}", dev, words));
        }
    }
    lines.push_back(fmt::format("link set dev {} {}", dev, has_flag(device, "UP") ? "up" : "down"));
    for (const json& address : process::part(device, "addr_info")) {
        add_address(address, dev, lines);
    }
    const json neighbours = process::parse_foreign(text.neighbours);
    for (const json& neighbour : neighbours.is_array() ? neighbours : json::array()) {
        add_neighbour(neighbour, dev, lines);
    }
    std::vector<std::string> routes;
    for (const std::string& printed : {text.routes, text.routes6}) {
        const json list = process::parse_foreign(printed);
        for (const json& route : list.is_array() ? list : json::array()) {
            add_route(route, dev, routes);
        }
    }
    // A gateway is reached by a route without one.
    std::stable_partition(routes.begin(), routes.end(), [](const std::string& route) {
        return route.find(" via ") == std::string::npos;
    });
    lines.insert(lines.end(), routes.begin(), routes.end());
    return lines;
}

std::vector<std::string> settings_of(const std::string& interface) {
    const auto said = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {"ip", "-json"});
        const auto ran = process::run_program(words, {.starts = process::Starts::kWhileStopping});
        return ran && ran->exit_status == 0 ? ran->out : std::string();
    };
    return settings_in(
        {.addresses = said({"-details", "address", "show", "dev", interface}),
         .neighbours = said({"neigh", "show", "dev", interface, "nud", "permanent"}),
         .routes = said({"-4", "route", "show", "table", "all", "dev", interface}),
         .routes6 = said({"-6", "route", "show", "table", "all", "dev", interface})});
}

Result<std::size_t> give_settings(const std::string& interface,
                                  const std::vector<std::string>& settings) {
    std::size_t made = 0;
    for (const std::string& line : settings) {
        // One may bring others about: what is there by now is asked each time.
        const auto there = settings_of(interface);
        if (std::ranges::find(there, line) == there.end()) {
            TRY(run_ip_here(line));
            ++made;
        }
    }
    return made;
}

}  // namespace pathproof::lab
