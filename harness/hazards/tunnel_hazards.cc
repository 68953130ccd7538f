#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "dataplane/base/contains.h"
#include "harness/hazards/kinds.h"
#include "harness/setting/cures.h"

namespace pathproof::hazards {
namespace {

// Bytes that a tunnel adds to a packet with an outer IPv4 header: RFC 7348 section 5 (vxlan), RFC
// 2784 (gre), RFC 2003 (ipip).
struct Overhead {
    const char* kind;
    std::uint32_t bytes;
};
constexpr Overhead kOverheads[] = {
    {"vxlan", 50}, {"geneve", 50}, {"gre", 24}, {"ipip", 20}, {"wireguard", 0}};
constexpr std::uint32_t kMoreOfIpv6 = 20;

// Returns the main table's route to this address.
const Route* route_to(const Host& host, const frame::IpAddress& to) {
    const Route* best = nullptr;
    for (const Route& route : host.facts.routes) {
        if (route.table == "main" && route.to.contains(to) &&
            (best == nullptr || best->to.first < route.to.first || route.to.last < best->to.last)) {
            best = &route;
        }
    }
    return best;
}

std::vector<std::string> devices_to(const Host& host, const frame::IpAddress& to) {
    const Route* route = route_to(host, to);
    return route == nullptr ? std::vector<std::string>() : route->devices;
}

const Overhead* overhead_of(const Device& device) {
    const auto* found = std::ranges::find(
        kOverheads, device.kind, [](const Overhead& each) { return std::string(each.kind); });
    return found == std::end(kOverheads) ? nullptr : found;
}

// Packets that a device of pods sends: a bridge with ports, or a veth device with a route to one address.
bool is_of_pods(const Host& host, const Device& device) {
    if (device.kind == "bridge") {
        return !host.ports_of(device).empty();
    }
    return device.kind == "veth" && device.master.empty() &&
           std::ranges::any_of(host.facts.routes, [&](const Route& route) {
               return route.to.is_one_address() &&
                      route.devices == std::vector<std::string>{device.name};
           });
}

// The largest packet that goes by a device without being cut, and the device below that says so; null: its own.
struct Room {
    std::uint32_t bytes = 0;
    const Device* below = nullptr;
    std::uint32_t below_mtu = 0;
};

// A tunnel's own packets may go into another tunnel, by the route to its far end.
Room room_of(const Host& host, const Device& device, unsigned depth = 0) {
    constexpr unsigned kMostTunnels = 4;
    Room room{.bytes = device.mtu};
    const Overhead* overhead = overhead_of(device);
    if (overhead == nullptr || overhead->bytes == 0 || depth == kMostTunnels) {
        return room;
    }
    const bool is_v6 = device.local && device.local->family == frame::Family::kIpv6;
    const std::uint32_t taken = overhead->bytes + (is_v6 ? kMoreOfIpv6 : 0);
    const auto narrow = [&](const Device& below, std::uint32_t route_mtu) {
        std::uint32_t mtu = room_of(host, below, depth + 1).bytes;
        mtu = route_mtu != 0 ? std::min(mtu, route_mtu) : mtu;
        const std::uint32_t most = mtu > taken ? mtu - taken : 0;
        if (room.below == nullptr || most < room.bytes) {
            room = {.bytes = std::min(room.bytes, most), .below = &below, .below_mtu = mtu};
        }
    };
    if (const Device* underlay = host.below(device)) {
        narrow(*underlay, 0);
    }
    for (const frame::IpAddress& remote : device.remotes) {
        const Route* route = route_to(host, remote);
        for (const std::string& name :
             route == nullptr ? std::vector<std::string>() : route->devices) {
            const Device* below = host.find_device(name);
            if (below != nullptr && below != &device) {
                narrow(*below, route->mtu);
            }
        }
    }
    return room;
}

// Marks that a packet may have when it has left the host's own NAT towards the tunnel: those
// that rules set before they translate to an address behind it, less what POSTROUTING clears.
// The outer packet keeps them (skb_scrub_packet() leaves the mark within a namespace).
std::set<std::uint32_t> marks_into(const Host& host, const Device& tunnel,
                                   const std::string& family) {
    std::set<std::uint32_t> inner{0}, outer;
    for (const char* hook : {"prerouting", "output"}) {
        for (const Chain* base : host.walker.bases(hook, family, "nat")) {
            for (const Ending& ending : host.walker.walk(*base, {})) {
                const bool translates =
                    ending.kind == Ending::Kind::kNat && ending.rule != nullptr && ending.rule->to;
                const auto devices =
                    translates ? devices_to(host, *ending.rule->to) : std::vector<std::string>();
                if (contains(devices, tunnel.name)) {
                    inner.insert(ending.packet.mark);
                }
            }
        }
    }
    for (const Chain* base : host.walker.bases("postrouting", family, "nat")) {
        for (const std::uint32_t mark : inner) {
            for (const Ending& ending :
                 host.walker.walk(*base, {.out = tunnel.name, .mark = mark})) {
                outer.insert(ending.packet.mark);
            }
        }
    }
    outer.insert(0);
    return outer;
}

// Adds the rules that may translate an outer packet.
void translated(Host& host, const Packet& outer, const std::string& family,
                std::set<const Rule*>& named, Hazard& hazard) {
    for (const Chain* base : host.walker.bases("postrouting", family, "nat")) {
        for (const Ending& ending : host.walker.walk(*base, outer)) {
            if (ending.kind != Ending::Kind::kNat) {
                continue;
            }
            if (!ending.doubt.empty()) {
                host.doubt("set " + ending.doubt,
                           "whether a rule translates the tunnel's outer packets depends on its "
                           "content: " +
                               ending.rule->text);
            } else if (named.insert(ending.rule).second) {
                hazard.evidence.push_back(evidence_of(*ending.rule));
            }
        }
    }
}

}  // namespace

Hazard tunnel_mtu(Host& host) {
    Hazard hazard{
        .scenario = "pmtu-blackhole",
        .what =
            "Packets are made larger than what the way out leaves: where fragments or the ICMP of "
            "the hop are filtered, ping works and large transfers hang.",
        .side_effect =
            "devices that exist keep their MTU: pods have to be made anew; smaller "
            "packets cost more CPU a byte"};
    std::uint32_t least = 0;
    const auto found = [&](const Device& device, std::uint32_t leaves, const std::string& text) {
        hazard.evidence.push_back(evidence_of(device, text));
        least = least == 0 ? leaves : std::min(least, leaves);
    };
    // Bytes that the narrowest of a device's routes leaves, by the device out.
    std::map<const Device*, std::uint32_t> ways;
    for (const Route& route : host.facts.routes) {
        for (const std::string& name : route.devices) {
            const Device* out = host.find_device(name);
            if (out == nullptr || is_of_pods(host, *out) || name == "lo") {
                continue;
            }
            std::uint32_t leaves = room_of(host, *out).bytes;
            leaves = route.mtu != 0 ? std::min(leaves, route.mtu) : leaves;
            const auto [way, is_new] = ways.emplace(out, leaves);
            way->second = is_new ? leaves : std::min(way->second, leaves);
        }
    }
    for (const Device& tunnel : host.facts.devices) {
        const Room room = room_of(host, tunnel);
        if (room.below != nullptr && tunnel.mtu > room.bytes) {
            found(tunnel, room.bytes,
                  fmt::format("MTU {}; {} of MTU {} leaves {}", tunnel.mtu, room.below->name,
                              room.below_mtu, room.bytes));
        }
    }
    // Each device of pods is held against its narrowest way.
    for (const Device& device : host.facts.devices) {
        const Device* narrowest = nullptr;
        for (const auto& [out, leaves] : ways) {
            const bool carries_it = room_of(host, *out).below == &device;
            if (is_of_pods(host, device) && !carries_it && device.mtu > leaves &&
                (narrowest == nullptr || leaves < ways.at(narrowest))) {
                narrowest = out;
            }
        }
        if (narrowest != nullptr) {
            const std::uint32_t leaves = ways.at(narrowest);
            found(device, leaves,
                  fmt::format("MTU {}, and there are routes by way of {}, which leaves {}",
                              device.mtu, narrowest->name, leaves));
        }
    }
    hazard.remedy = fmt::format(
        "an MTU of at most {} for pods, bridge and tunnel (\"mtu\" in "
        "the conflist).",
        least);
    return hazard;
}

namespace {

// The name of the first vxlan device that writes checksums of outer packets.
std::string named_tunnel(const Host& host) {
    for (const Device& device : host.facts.devices) {
        if (device.kind == "vxlan" && device.udp_checksum) {
            return device.name;
        }
    }
    return "DEVICE";
}

}  // namespace

Hazard outer_nat(Host& host) {
    Hazard hazard{
        .scenario = "vxlan-checksum",
        .what =
            "NAT may change the source port of the tunnel's outer packets after their UDP "
            "checksum was made: ping between pods works, TCP and DNS time out.",
        .remedy =
            setting::cure("tx-checksum-off").quoted({{"$TUNNEL", named_tunnel(host)}}) +
            " for the vxlan device on every node, or a rule before this one that returns for UDP "
            "to the tunnel's port.",
        .side_effect =
            "the CPU then makes the checksums of what is sent into the tunnel, and "
            "large TCP segments are cut before it: more CPU a byte",
        .severe = true};
    for (const Device& tunnel : host.facts.devices) {
        if (tunnel.kind != "vxlan" || !tunnel.udp_checksum || !tunnel.tx_checksum.value_or(false)) {
            continue;
        }
        const Device* underlay = host.below(tunnel);
        const std::string family =
            tunnel.local && tunnel.local->family == frame::Family::kIpv6 ? "ip6" : "ip";
        std::set<const Rule*> named;
        for (const std::uint32_t mark : marks_into(host, tunnel, family)) {
            Packet outer{.source = tunnel.local,
                         .protocol = "udp",
                         .destination_port = tunnel.port,
                         .out = underlay != nullptr ? underlay->name : "",
                         .state = "new",
                         .to_local = false,
                         .mark = mark};
            if (tunnel.remotes.empty()) {
                translated(host, outer, family, named, hazard);
            }
            for (const frame::IpAddress& remote : tunnel.remotes) {
                outer.destination = remote;
                translated(host, outer, family, named, hazard);
            }
        }
        if (!named.empty()) {
            hazard.evidence.push_back(evidence_of(
                tunnel,
                fmt::format("tx-checksum-ip-generic on, udpcsum, UDP port {}", tunnel.port)));
        }
    }
    return hazard;
}

}  // namespace pathproof::hazards
