// What is read of a host before anything is said of it. Plain values: nothing here touches the host.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/hazards/ruleset.h"

namespace pathproof::hazards {

struct Address {
    frame::IpAddress address;
    AddressRange network;
};

struct Device {
    std::string name;
    std::string kind = "";    // "veth", "bridge", "vxlan", ...; empty: hardware, or the loopback
    std::string master = "";  // the bridge that it is a port of
    std::uint32_t mtu = 0;
    bool promiscuous = false;
    std::optional<bool> hairpin = std::nullopt;  // of a bridge's port
    bool calls_iptables = false;                 // of a bridge, for itself: nf_call_iptables
    // Of a tunnel.
    std::string below = "";
    std::optional<frame::IpAddress> local = std::nullopt;
    std::vector<frame::IpAddress> remotes = {};  // that its packets go to; empty: not known
    std::uint16_t port = 0;                      // of a vxlan device
    bool udp_checksum = false;
    std::optional<bool> tx_checksum = std::nullopt;  // tx-checksum-ip-generic
    std::vector<Address> addresses = {};
};

struct Route {
    AddressRange to;
    std::vector<std::string> devices;  // several: one of them is taken, flow by flow
    std::string table = "main";
};

struct Unread {
    std::string what;
    std::string why;
};

struct Facts {
    Ruleset rules;
    std::vector<Device> devices;
    std::vector<Route> routes;
    unsigned routing_rules = 0;  // `ip rule`, beside the three that there always are
    std::map<std::string, std::string> sysctls;  // by their names with dots; missing: there is none
    std::map<std::string, std::uint64_t> counters;
    std::vector<Unread> unread;
};

// What `ip -d -j link show`, `ip -j address show` and `bridge -j fdb show` printed. kBadInput where it
// is no such JSON.
Result<std::vector<Device>> parse_devices(std::string_view links, std::string_view addresses,
                                          std::string_view fdb);
// What `ip -j route show table all` printed; routes that lead to no device are left out.
Result<std::vector<Route>> parse_routes(std::string_view text);
// How many rules `ip -j rule show` printed beside the three.
Result<unsigned> parse_routing_rules(std::string_view text);

// Reads them in a network namespace (empty: the caller's), and changes nothing. What cannot be read is
// in `unread`. An error: there is no such namespace, or not the privilege.
Result<Facts> read_facts(const std::string& netns);

}  // namespace pathproof::hazards
