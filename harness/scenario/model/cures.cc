#include <algorithm>

#include "harness/scenario/model/cure.h"

namespace pathproof::scenario {
namespace {

constexpr const char* kOnTheDut = "on the DUT";

Cure sysctl(const char* id, const char* setting, const char* where) {
    return {
        .id = id, .command = std::string("sysctl -w ") + setting, .where = where, .name = setting};
}

}  // namespace

std::string Cure::text() const {
    return quoted() + (where.empty() ? "" : " " + where);
}

const std::vector<Cure>& cures() {
    static const std::vector<Cure> all = {
        sysctl("reuse-mode-0", "net.ipv4.vs.conn_reuse_mode=0", kOnTheDut),
        {.id = "delete-unused-entries",
         .command = "conntrack -D",
         .where = "of entries that nobody uses",
         .name = "delete entries that nobody uses"},
        {.id = "bridge-nf",
         .command = "modprobe br_netfilter; sysctl -w net.bridge.bridge-nf-call-iptables=1",
         .where = kOnTheDut,
         .name = "net.bridge.bridge-nf-call-iptables=1"},
        {.id = "hairpin-masquerade",
         .command = "iptables -t nat -A POSTROUTING -s PODS -d PODS -j MASQUERADE",
         .where = kOnTheDut,
         .name = "MASQUERADE of what goes from the clients' network back to it"},
        sysctl("be-liberal", "net.netfilter.nf_conntrack_tcp_be_liberal=1", kOnTheDut),
        {.id = "drop-invalid",
         .command = "iptables -A FORWARD -m conntrack --ctstate INVALID -j DROP",
         .where = kOnTheDut},
        {.id = "delete-stale-entries",
         .command = "conntrack -D",
         .where = "of the entries of a service to an endpoint that is gone",
         .name = "delete the flow's entry"},
        sysctl("expire-nodest", "net.ipv4.vs.expire_nodest_conn=1", kOnTheDut),
        {.id = "rules-of-the-living",
         .command = "",
         .name =
             "have the node's proxy write the service's rules anew, of the endpoints that serve"},
        {.id = "all-ports", .command = "", .name = "MASQUERADE without --to-ports"},
        {.id = "tunnel-mtu", .command = "", .name = "an MTU of the tunnel that fits the hop"},
        {.id = "outer-df",
         .command = "",
         .name = "outer DF set, and the routers' ICMP let through"},
        {.id = "mss-clamp", .command = "", .name = "an MSS that fits the hop"},
        {.id = "ask-for-the-name-first",
         .command = "",
         .name = "a dot behind the name, or `ndots:2` (dnsConfig.options of the pod)"},
        {.id = "nodelocal", .command = "", .name = "NodeLocal DNSCache on each node"},
        {.id = "more-workers", .command = "dnsmasq --max-tcp-connections"},
        {.id = "forward-max", .command = "dnsmasq --dns-forward-max"},
        sysctl("timestamps-2", "net.ipv4.tcp_timestamps=2", "on the clients"),
    };
    return all;
}

const Cure* find_cure(std::string_view id) {
    const auto found = std::ranges::find(cures(), id, &Cure::id);
    return found == cures().end() ? nullptr : &*found;
}

}  // namespace pathproof::scenario
