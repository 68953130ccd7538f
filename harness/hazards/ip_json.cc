// The JSON of ip(8).
#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "dataplane/base/contains.h"
#include "dataplane/base/number.h"
#include "harness/hazards/facts.h"
#include "harness/process/foreign.h"
#include "harness/process/json_text.h"

namespace pathproof::hazards {
namespace {

using nlohmann::json;
using process::number_of;
using process::part;
using process::text_of;

bool is_true(const json& value) {
    return value.is_boolean() ? value.get<bool>() : number_of(value) != 0;
}

Result<json> list_of(std::string_view text, const char* command) {
    // Names need not be UTF-8, and one that is not must not hide all others.
    json list = process::parse_foreign(process::valid_utf8(std::string(text)));
    // ip(8) prints an empty result as nothing at all, or as an empty list.
    if (list.is_null() && text.find_first_not_of(" \n") == std::string_view::npos) {
        return json::array();
    }
    if (!list.is_array()) {
        return fail(ErrorCode::kBadInput, "`{}` printed no list of JSON", command);
    }
    return list;
}

Device device_of(const json& link) {
    const json& info = part(link, "linkinfo");
    const json& data = part(info, "info_data");
    const json& flags = part(link, "flags");
    Device device{.name = text_of(part(link, "ifname")),
                  .kind = text_of(part(info, "info_kind")),
                  .master = text_of(part(link, "master")),
                  .mtu = static_cast<std::uint32_t>(number_of(part(link, "mtu"))),
                  .mac = text_of(part(link, "address"))};
    for (const json& flag : flags.is_array() ? flags : json::array()) {
        device.promiscuous |= flag == "PROMISC";
    }
    if (const json& hairpin = part(part(info, "info_slave_data"), "hairpin"); !hairpin.is_null()) {
        device.hairpin = is_true(hairpin);
    }
    // In hundredths of a second.
    device.ageing_s = static_cast<std::uint64_t>(number_of(part(data, "ageing_time"))) / 100;
    device.calls_iptables = is_true(part(data, "nf_call_iptables"));
    device.below = text_of(part(data, "link"));
    for (const char* key : {"local", "local6"}) {
        if (const auto local = frame::parse_ip(text_of(part(data, key))); local) {
            device.local = *local;
        }
    }
    for (const char* key : {"remote", "remote6", "group", "group6"}) {
        if (const auto remote = frame::parse_ip(text_of(part(data, key))); remote) {
            device.remotes.push_back(*remote);
        }
    }
    device.port = static_cast<std::uint16_t>(number_of(part(data, "port")));
    device.udp_checksum = is_true(part(data, "udp_csum"));
    return device;
}

}  // namespace

Result<std::vector<Device>> parse_devices(std::string_view links, std::string_view addresses,
                                          std::string_view fdb) {
    const json list = TRY(list_of(links, "ip -d -j link show"));
    const json with_addresses = TRY(list_of(addresses, "ip -j address show"));
    const json forwarding = TRY(list_of(fdb, "bridge -j fdb show"));
    std::vector<Device> devices;
    for (const json& link : list) {
        if (!text_of(part(link, "ifname")).empty()) {
            devices.push_back(device_of(link));
        }
    }
    for (const json& link : with_addresses) {
        const auto device =
            std::ranges::find(devices, text_of(part(link, "ifname")), &Device::name);
        const json& own = part(link, "addr_info");
        for (const json& one : own.is_array() ? own : json::array()) {
            const auto address = frame::parse_ip(text_of(part(one, "local")));
            const auto length = static_cast<unsigned>(number_of(part(one, "prefixlen")));
            if (device == devices.end() || !address) {
                continue;
            }
            device->has_learned_address |=
                address->family == frame::Family::kIpv6 && is_true(part(one, "dynamic"));
            if (const auto network = prefix_range(*address, length); network) {
                const std::string scope = text_of(part(one, "scope"));
                device->addresses.push_back({.address = *address,
                                             .network = *network,
                                             .secondary = is_true(part(one, "secondary")),
                                             .scope = scope.empty() ? "global" : scope});
            }
        }
    }
    for (const json& entry : forwarding) {
        const auto device =
            std::ranges::find(devices, text_of(part(entry, "ifname")), &Device::name);
        const auto remote = frame::parse_ip(text_of(part(entry, "dst")));
        if (device != devices.end() && remote) {
            device->remotes.push_back(*remote);
        }
        const auto bridge =
            std::ranges::find(devices, text_of(part(entry, "master")), &Device::name);
        if (bridge != devices.end()) {
            bridge->known_macs.push_back(text_of(part(entry, "mac")));
        }
    }
    return devices;
}

Result<std::vector<Route>> parse_routes(std::string_view text) {
    const json list = TRY(list_of(text, "ip -j route show table all"));
    std::vector<Route> routes;
    for (const json& one : list) {
        const std::string type = text_of(part(one, "type"));
        const std::string to = text_of(part(one, "dst"));
        Route route;
        if (const std::string table = text_of(part(one, "table")); !table.empty()) {
            route.table = table;
        }
        if (!type.empty() && type != "unicast") {
            continue;
        }
        if (const auto range = parse_range(to == "default" ? "0.0.0.0/0" : to); range) {
            route.to = *range;
        } else {
            continue;
        }
        if (const std::string device = text_of(part(one, "dev")); !device.empty()) {
            route.devices.push_back(device);
        }
        const json& metrics = part(one, "metrics");
        for (const json& metric : metrics.is_array() ? metrics : json::array()) {
            route.mtu =
                std::max(route.mtu, static_cast<std::uint32_t>(number_of(part(metric, "mtu"))));
        }
        const json& hops = part(one, "nexthops");
        for (const json& hop : hops.is_array() ? hops : json::array()) {
            const std::string device = text_of(part(hop, "dev"));
            if (!device.empty() && !contains(route.devices, device)) {
                route.devices.push_back(device);
            }
        }
        if (!route.devices.empty()) {
            routes.push_back(std::move(route));
        }
    }
    return routes;
}

namespace {

// "default", "10.0.0.0/8", "10.0.0.1"; the default of IPv4 where it is not told.
std::optional<AddressRange> destination_of(const json& route) {
    const std::string to = text_of(part(route, "dst"));
    const auto range = parse_range(to == "default" ? "0.0.0.0/0" : to);
    return range ? std::optional(*range) : std::nullopt;
}

}  // namespace

Result<std::vector<AddressRange>> parse_locals(std::string_view text) {
    const json list = TRY(list_of(text, "ip -j route show table all"));
    std::vector<AddressRange> locals;
    for (const json& one : list) {
        const auto range = destination_of(one);
        // Routes of other tables deliver what a rule leads to them (TPROXY), and make no address this
        // host's own (inet_addr_type()).
        const std::string table = text_of(part(one, "table"));
        const bool is_own = table == "local" || table == "255";
        if (range && is_own && text_of(part(one, "type")) == "local") {
            locals.push_back(*range);
        }
    }
    return locals;
}

Result<std::vector<AddressRange>> parse_prefixes(std::string_view text) {
    const json list = TRY(list_of(text, "ip -j route show table all"));
    std::vector<AddressRange> prefixes;
    for (const json& one : list) {
        if (const auto range = destination_of(one); range) {
            prefixes.push_back(*range);
        }
    }
    return prefixes;
}

namespace {

// "src" with "srclen", "dst" with "dstlen", of a routing rule.
void add_prefix(const json& rule, const char* name, const char* length,
                std::vector<AddressRange>& prefixes) {
    const auto address = frame::parse_ip(text_of(part(rule, name)));
    if (!address) {
        return;
    }
    const json& bits = part(rule, length);
    const auto range =
        prefix_range(*address, bits.is_null() ? static_cast<unsigned>(address->size() * 8)
                                              : static_cast<unsigned>(number_of(bits)));
    if (range) {
        prefixes.push_back(*range);
    }
}

}  // namespace

Result<std::vector<AddressRange>> parse_rule_prefixes(std::string_view text) {
    const json list = TRY(list_of(text, "ip -j rule show"));
    std::vector<AddressRange> prefixes;
    for (const json& one : list) {
        add_prefix(one, "src", "srclen", prefixes);
        add_prefix(one, "dst", "dstlen", prefixes);
    }
    return prefixes;
}

Result<std::vector<AddressRange>> parse_rule_sources(std::string_view text) {
    const json list = TRY(list_of(text, "ip -j rule show"));
    std::vector<AddressRange> prefixes;
    for (const json& one : list) {
        add_prefix(one, "src", "srclen", prefixes);
    }
    return prefixes;
}

Result<std::vector<NeighbourEntry>> parse_neighbours(std::string_view text) {
    const json list = TRY(list_of(text, "ip -s -j neigh show"));
    std::vector<NeighbourEntry> neighbours;
    for (const json& one : list) {
        const auto address = frame::parse_ip(text_of(part(one, "dst")));
        const json& states = part(one, "state");
        if (address) {
            neighbours.push_back(
                {.address = *address,
                 .device = text_of(part(one, "dev")),
                 .state = states.is_array() && !states.empty() ? text_of(states[0]) : "",
                 .mac = text_of(part(one, "lladdr"))});
            if (const json& confirmed = part(one, "confirmed"); confirmed.is_number_unsigned()) {
                neighbours.back().confirmed_s = confirmed.get<std::uint64_t>();
            }
        }
    }
    return neighbours;
}

namespace {

int ipvs_protocol(std::string_view word) {
    if (word == "TCP") {
        return 6;
    }
    if (word == "UDP") {
        return 17;
    }
    return word == "SCTP" ? 132 : 0;
}

}  // namespace

// "TCP  0A600001:0050 rr", "UDP  [2001:0db8:...]:0035 rr"; real servers begin with "->".
std::vector<IpvsService> parse_ipvs(std::string_view text) {
    std::vector<IpvsService> services;
    for (const std::string& line : process::lines_of(text)) {
        std::istringstream words(line);
        std::string protocol, at;
        words >> protocol >> at;
        const std::size_t colon = at.rfind(':');
        const int number = ipvs_protocol(protocol);
        if (number == 0 || colon == std::string::npos) {
            continue;
        }
        const auto port = whole_number<std::uint16_t>(std::string_view(at).substr(colon + 1), 16);
        const std::string host = at.substr(0, colon);
        IpvsService service{.protocol = static_cast<std::uint8_t>(number)};
        if (host.starts_with('[')) {
            const auto address = frame::parse_ip(host.substr(1, host.size() - 2));
            if (!address || !port) {
                continue;
            }
            service.at = {*address, *port};
        } else {
            const auto address = whole_number<std::uint32_t>(host, 16);
            if (!address || !port) {
                continue;
            }
            service.at = {frame::IpAddress::v4(*address), *port};
        }
        services.push_back(service);
    }
    return services;
}

Result<unsigned> parse_routing_rules(std::string_view text) {
    const json list = TRY(list_of(text, "ip -j rule show"));
    return static_cast<unsigned>(std::ranges::count_if(list, [](const json& rule) {
        const std::uint64_t priority = number_of(part(rule, "priority"));
        return priority != 0 && priority != 32766 && priority != 32767;
    }));
}

}  // namespace pathproof::hazards
