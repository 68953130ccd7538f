#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "dataplane/base/contains.h"
#include "harness/hazards/kinds.h"
#include "harness/setting/cures.h"

namespace pathproof::hazards {
namespace {

// What a tunnel adds to a packet, with an outer header of IPv4: RFC 7348 section 5 (vxlan), RFC 2784
// (gre), RFC 2003 (ipip).
struct Overhead {
    const char* kind;
    std::uint32_t bytes;
};
constexpr Overhead kOverheads[] = {
    {"vxlan", 50}, {"geneve", 50}, {"gre", 24}, {"ipip", 20}, {"wireguard", 0}};
constexpr std::uint32_t kMoreOfIpv6 = 20;

// Devices of pods that send into the tunnel with a larger MTU.
void larger_than(const Host& host, const Device& tunnel, std::uint32_t leaves,
                 const Device* underlay, Hazard& hazard) {
    const bool is_used = std::ranges::any_of(host.facts.routes, [&](const Route& route) {
        return contains(route.devices, tunnel.name);
    });
    for (const Device& device : host.facts.devices) {
        const bool is_bridge = device.kind == "bridge" && !host.ports_of(device).empty();
        // A route to one address through a veth device: a pod's, without a bridge.
        const bool is_pod = device.kind == "veth" && device.master.empty() &&
                            std::ranges::any_of(host.facts.routes, [&](const Route& route) {
                                return route.to.is_one_address() &&
                                       route.devices == std::vector<std::string>{device.name};
                            });
        if (is_used && &device != underlay && (is_bridge || is_pod) && device.mtu > leaves) {
            hazard.evidence.push_back(
                evidence_of(device, fmt::format("MTU {}, and there are routes by way of {}, "
                                                "which leaves {}",
                                                device.mtu, tunnel.name, leaves)));
        }
    }
}

// Where packets to this address go by the main table.
std::vector<std::string> devices_to(const Host& host, const frame::IpAddress& to) {
    const Route* best = nullptr;
    for (const Route& route : host.facts.routes) {
        if (route.table == "main" && route.to.contains(to) &&
            (best == nullptr || best->to.first < route.to.first || route.to.last < best->to.last)) {
            best = &route;
        }
    }
    return best == nullptr ? std::vector<std::string>() : best->devices;
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
            "Packets are made larger than what the tunnel leaves: where its fragments or the "
            "ICMP of the hop are filtered, ping works and large transfers hang.",
        .side_effect =
            "devices that exist keep their MTU: pods have to be made anew; smaller "
            "packets cost more CPU a byte"};
    std::uint32_t least = 0;
    for (const Device& tunnel : host.facts.devices) {
        const auto* overhead = std::ranges::find(
            kOverheads, tunnel.kind, [](const Overhead& each) { return std::string(each.kind); });
        if (overhead == std::end(kOverheads)) {
            continue;
        }
        std::uint32_t leaves = tunnel.mtu;
        const Device* underlay = overhead->bytes == 0 ? nullptr : host.below(tunnel);
        if (underlay != nullptr) {
            const bool is_v6 = tunnel.local && tunnel.local->family == frame::Family::kIpv6;
            const std::uint32_t taken = overhead->bytes + (is_v6 ? kMoreOfIpv6 : 0);
            const std::uint32_t most = underlay->mtu > taken ? underlay->mtu - taken : 0;
            if (tunnel.mtu > most) {
                hazard.evidence.push_back(
                    evidence_of(tunnel, fmt::format("MTU {}; {} of MTU {} leaves {}", tunnel.mtu,
                                                    underlay->name, underlay->mtu, most)));
            }
            leaves = std::min(leaves, most);
        }
        const std::size_t before = hazard.evidence.size();
        larger_than(host, tunnel, leaves, underlay, hazard);
        if (hazard.evidence.size() != before || tunnel.mtu > leaves) {
            least = least == 0 ? leaves : std::min(least, leaves);
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
