#include "harness/prices/cures.h"

#include <algorithm>

namespace pathproof::prices {

const char* lack_of(Part part) {
    switch (part) {
        case Part::kMasquerade: return "no MASQUERADE on its path may keep a flow's port";
        case Part::kTunnel: return "its path has no vxlan device";
        case Part::kClientTcp: return "no TCP of the kernel begins there";
        case Part::kTrackedTcp: return "conntrack sees no TCP there";
        case Part::kBridge: return "no bridge of the DUT has both ends of its flows";
        case Part::kResolver: return "no resolver with a resolv.conf asks there";
        case Part::kUdpService: return "no endpoint of a service on UDP changes there";
        case Part::kFullTable: return "its table of conntrack has room";
        case Part::kEndpoints: return "no rules there name endpoints that are dead";
        case Part::kPortRange: return "its SNAT has no range of ports";
        case Part::kSmallerHop: return "no hop there takes less than the tunnel";
        case Part::kDnsmasq: return "no cache asks a dnsmasq there";
        case Part::kForwards: return "no dnsmasq forwards lookups by UDP there";
        case Part::kNameCache: return "no cache answers A and AAAA differently there";
        case Part::kNodeDns: return "no node translates lookups there";
    }
    return "";
}

const std::vector<Cure>& all_cures() {
    static const std::vector<Cure> cures = {
        {setting::cure("random-fully"), {"snat-race"}, Part::kMasquerade},
        {setting::cure("timestamps-2"), {"snat-timestamps"}, Part::kClientTcp},
        {setting::cure("tx-checksum-off"), {"vxlan-checksum"}, Part::kTunnel},
        {setting::cure("single-request"), {"dns-race"}, Part::kResolver},
        {setting::cure("single-request-reopen"), {"dns-race"}, Part::kResolver},
        {setting::cure("use-vc"), {}, Part::kResolver},
        {setting::cure("no-aaaa"), {"split-answer"}, Part::kResolver},
        {setting::cure("ndots-2"), {"search-path", "split-answer"}, Part::kResolver},
        {setting::cure("ndots-1"), {"search-path"}, Part::kResolver},
        {setting::cure("trailing-dot"), {"search-path", "split-answer"}, Part::kResolver},
        {setting::cure("drop-invalid"), {"invalid-rst"}, Part::kTrackedTcp},
        {setting::cure("be-liberal"), {"invalid-rst"}, Part::kTrackedTcp},
        {setting::cure("bridge-nf"), {"bridge-unnat"}, Part::kBridge},
        {setting::cure("hairpin-masquerade"), {"bridge-unnat"}, Part::kBridge},
        {setting::cure("delete-stale-entries"), {"stale-udp"}, Part::kUdpService},
        {setting::cure("delete-unused-entries"), {"table-full"}, Part::kFullTable},
        {setting::cure("rules-of-the-living"), {"stale-endpoint"}, Part::kEndpoints},
        {setting::cure("all-ports"), {"snat-exhaustion"}, Part::kPortRange},
        {setting::cure("tunnel-mtu"), {"pmtu-blackhole"}, Part::kSmallerHop},
        {setting::cure("mss-clamp"), {"pmtu-blackhole"}, Part::kSmallerHop},
        {setting::cure("outer-df"), {"pmtu-blackhole"}, Part::kSmallerHop},
        {setting::cure("consistent-cache"), {"split-answer"}, Part::kNameCache},
        {setting::cure("max-idle"), {"dns-tcp-limit"}, Part::kDnsmasq},
        {setting::cure("more-workers"), {"dns-tcp-limit"}, Part::kDnsmasq},
        {setting::cure("prefer-udp"), {"dns-tcp-limit"}, Part::kDnsmasq},
        {setting::cure("forward-max"), {"dns-tcp-limit"}, Part::kForwards},
        {setting::cure("nodelocal"), {"nodelocal"}, Part::kNodeDns},
    };
    return cures;
}

std::vector<std::string> cures_shown_by(const std::string& scenario) {
    std::vector<std::string> cures;
    for (const Cure& cure : all_cures()) {
        if (std::ranges::count(cure.shown_by, scenario) != 0) {
            cures.push_back(cure.id);
        }
    }
    return cures;
}

const Cure* find_cure(const std::string& id) {
    const auto found = std::ranges::find(all_cures(), id, &Cure::id);
    return found == all_cures().end() ? nullptr : &*found;
}

}  // namespace pathproof::prices
