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
        {.id = "random-fully",
         .text = "`-j MASQUERADE --random-fully` on the DUT",
         .shown_by = {"snat-race"},
         .needs = Part::kMasquerade,
         .path = {.random_fully = true}},
        {.id = "timestamps-2",
         .text = "`sysctl -w net.ipv4.tcp_timestamps=2` on the clients",
         .shown_by = {"snat-timestamps"},
         .needs = Part::kClientTcp,
         .path = {.timestamps = 2}},
        {.id = "tx-checksum-off",
         .text = "`ethtool -K vx tx-checksum-ip-generic off` on every node",
         .shown_by = {"vxlan-checksum"},
         .needs = Part::kTunnel,
         .path = {.tunnel_checksums = false}},
        {.id = "single-request",
         .text = "`options single-request` in resolv.conf",
         .shown_by = {"dns-race"},
         .needs = Part::kResolver,
         .resolver = "single-request"},
        {.id = "single-request-reopen",
         .text = "`options single-request-reopen` in resolv.conf",
         .shown_by = {"dns-race"},
         .needs = Part::kResolver,
         .resolver = "single-request-reopen"},
        {.id = "use-vc",
         .text = "`options use-vc` in resolv.conf",
         .needs = Part::kResolver,
         .resolver = "use-vc"},
        {.id = "no-aaaa",
         .text = "`options no-aaaa` in resolv.conf (glibc 2.36)",
         .shown_by = {"split-answer"},
         .needs = Part::kResolver,
         .resolver = "no-aaaa"},
        {.id = "ndots-2",
         .text = "`options ndots:2` in resolv.conf",
         .shown_by = {"search-path", "split-answer"},
         .needs = Part::kResolver,
         .resolver = "ndots:2"},
        {.id = "ndots-1",
         .text = "`options ndots:1` in resolv.conf",
         .shown_by = {"search-path"},
         .needs = Part::kResolver,
         .resolver = "ndots:1"},
        {.id = "trailing-dot",
         .text = "a dot behind the name",
         .shown_by = {"search-path", "split-answer"},
         .needs = Part::kResolver,
         .dot = true},
        {.id = "drop-invalid",
         .text = "`iptables -A FORWARD -m conntrack --ctstate INVALID -j DROP` on the DUT",
         .shown_by = {"invalid-rst"},
         .needs = Part::kTrackedTcp,
         .path = {.drops_invalid = true}},
        {.id = "be-liberal",
         .text = "`sysctl -w net.netfilter.nf_conntrack_tcp_be_liberal=1` on the DUT",
         .shown_by = {"invalid-rst"},
         .needs = Part::kTrackedTcp,
         .path = {.be_liberal = true}},
        {.id = "bridge-nf",
         .text = "`sysctl -w net.bridge.bridge-nf-call-iptables=1` on the DUT",
         .shown_by = {"bridge-unnat"},
         .needs = Part::kBridge,
         .path = {.bridge_filters = true}},
        {.id = "hairpin-masquerade",
         .text = "MASQUERADE of what goes from the clients' network back to it",
         .shown_by = {"bridge-unnat"},
         .needs = Part::kBridge,
         .path = {.hairpin = true}},
        {.id = "delete-stale-entries",
         .text = "`conntrack -D` of the entries of a service to an endpoint that is gone",
         .shown_by = {"stale-udp"},
         .needs = Part::kUdpService},
        {.id = "delete-unused-entries",
         .text = "`conntrack -D` of entries that nobody uses",
         .shown_by = {"table-full"},
         .needs = Part::kFullTable},
        {.id = "rules-of-the-living",
         .text = "rules that name the endpoints which serve",
         .shown_by = {"stale-endpoint"},
         .needs = Part::kEndpoints},
        {.id = "all-ports",
         .text = "MASQUERADE without --to-ports",
         .shown_by = {"snat-exhaustion"},
         .needs = Part::kPortRange},
        {.id = "tunnel-mtu",
         .text = "an MTU of the tunnel that fits the hop",
         .shown_by = {"pmtu-blackhole"},
         .needs = Part::kSmallerHop},
        {.id = "mss-clamp",
         .text = "an MSS that fits the hop (`-j TCPMSS --set-mss`)",
         .shown_by = {"pmtu-blackhole"},
         .needs = Part::kSmallerHop},
        {.id = "outer-df",
         .text = "DF in the tunnel's outer header, and the router's ICMP let through",
         .shown_by = {"pmtu-blackhole"},
         .needs = Part::kSmallerHop},
        {.id = "consistent-cache",
         .text = "a cache that keeps A and AAAA together",
         .shown_by = {"split-answer"},
         .needs = Part::kNameCache},
        {.id = "max-idle",
         .text = "`max_idle_conns 10` of the cache",
         .shown_by = {"dns-tcp-limit"},
         .needs = Part::kDnsmasq},
        {.id = "more-workers",
         .text = "`--max-tcp-connections=200` of dnsmasq",
         .shown_by = {"dns-tcp-limit"},
         .needs = Part::kDnsmasq},
        {.id = "prefer-udp",
         .text = "`prefer_udp` of the cache",
         .shown_by = {"dns-tcp-limit"},
         .needs = Part::kDnsmasq},
        {.id = "forward-max",
         .text = "`--dns-forward-max=1500` of dnsmasq",
         .shown_by = {"dns-tcp-limit"},
         .needs = Part::kForwards},
        {.id = "nodelocal",
         .text = "NodeLocal DNSCache on the node",
         .shown_by = {"nodelocal"},
         .needs = Part::kNodeDns},
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
