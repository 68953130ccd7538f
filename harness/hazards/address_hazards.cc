// Addresses that pods leave behind when they go: in the neighbour table, in the leases of host-local.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "dataplane/base/contains.h"
#include "dataplane/base/plural.h"
#include "harness/hazards/kinds.h"

namespace pathproof::hazards {

// Whoever confirmed the entry sent a frame through the bridge, and the bridge knows its sender until the entry of
// its forwarding database is too old or its port goes.
bool is_gone(const Facts& facts, const NeighbourEntry& neighbour) {
    const auto bridge = std::ranges::find(facts.devices, neighbour.device, &Device::name);
    return bridge != facts.devices.end() && bridge->kind == "bridge" && bridge->ageing_s != 0 &&
           !neighbour.mac.empty() && neighbour.confirmed_s &&
           *neighbour.confirmed_s < bridge->ageing_s &&
           contains(std::array{"REACHABLE", "STALE", "DELAY", "PROBE"}, neighbour.state) &&
           !contains(bridge->known_macs, neighbour.mac);
}

Hazard gone_neighbour(Host& host) {
    Hazard hazard{
        .what =
            "The neighbour table leads to a MAC that no port of the bridge has: the pod with it is "
            "gone, and packets to the next pod with its address are lost until the entry is "
            "renewed, 10 s and more.",
        .side_effect = "the next packet asks for the address anew",
        .severe = true};
    for (const NeighbourEntry& neighbour : host.facts.neighbours) {
        if (!is_gone(host.facts, neighbour)) {
            continue;
        }
        hazard.evidence.push_back(
            {"neighbour " + to_string(neighbour.address) + " on " + neighbour.device,
             fmt::format("{} {}, confirmed {} s ago, and the forwarding database of {} has no such "
                         "MAC",
                         neighbour.state, neighbour.mac, *neighbour.confirmed_s,
                         neighbour.device)});
        hazard.remedy = fmt::format("`ip neigh del {} dev {}`, or a pod that announces itself.",
                                    to_string(neighbour.address), neighbour.device);
    }
    return hazard;
}

Hazard leaked_lease(Host& host) {
    Hazard hazard{
        .what =
            "Leases of host-local belong to no pod: nobody gives their addresses back, and in the "
            "end no pod gets one (as after a restart of the node without DEL).",
        .side_effect = "an address that is in use after all would be given twice"};
    std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> of_network;  // leaked, all
    for (const Lease& lease : host.facts.leases) {
        auto& [leaked, all] = of_network[lease.network];
        ++all;
        if (lease.in_use) {
            continue;
        }
        ++leaked;
        hazard.evidence.push_back(
            {"lease " + lease.file,
             fmt::format("of container {}; no network namespace of this machine has {}",
                         lease.container, to_string(lease.address))});
        hazard.remedy = fmt::format(
            "DEL for these containers, or `rm {}` (and the others) while no pod is being made.",
            lease.file);
    }
    for (const auto& [network, count] : of_network) {
        if (count.first != 0) {
            hazard.harm += fmt::format("{}without a pod in the network {}: {} of {}",
                                       hazard.harm.empty() ? "" : "; ", network, count.first,
                                       plural(count.second, "lease"));
        }
    }
    return hazard;
}

}  // namespace pathproof::hazards
