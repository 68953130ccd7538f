#include "harness/setting/cures.h"

#include <algorithm>
#include <utility>

#include "harness/scenario/model/cure.h"

namespace pathproof::scenario {
namespace {

// As the table of all cures has it (setting/cures.h).
Cure as_set(const char* id, std::string name = "") {
    const setting::Cure& cure = setting::cure(id);
    return {.id = id, .command = cure.command, .where = cure.where, .name = std::move(name)};
}

// Named "net.ipv4.tcp_timestamps=2".
Cure sysctl(const char* id) {
    const agent::HostChange& change = setting::cure(id).settings.at(0).changes.at(0);
    return as_set(id, change.name + "=" + change.value);
}

Cure bridge_filter() {
    Cure cure = sysctl("bridge-nf");
    cure.command.insert(0, "modprobe br_netfilter; ");
    return cure;
}

}  // namespace

std::string Cure::text() const {
    return quoted() + (where.empty() ? "" : " " + where);
}

const std::vector<Cure>& cures() {
    static const std::vector<Cure> all = {
        sysctl("reuse-mode-0"),
        as_set("delete-unused-entries", "delete entries that nobody uses"),
        bridge_filter(),
        {.id = "hairpin-masquerade",
         .command = "iptables -t nat -A POSTROUTING -s PODS -d PODS -j MASQUERADE",
         .where = "on the DUT",
         .name = setting::cure("hairpin-masquerade").where},
        sysctl("be-liberal"),
        as_set("drop-invalid"),
        as_set("delete-stale-entries", "delete the flow's entry"),
        sysctl("expire-nodest"),
        {.id = "rules-of-the-living",
         .command = "",
         .name =
             "have the node's proxy write the service's rules anew, of the endpoints that serve"},
        {.id = "all-ports", .command = "", .name = setting::cure("all-ports").where},
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
        sysctl("timestamps-2"),
    };
    return all;
}

const Cure* find_cure(std::string_view id) {
    const auto found = std::ranges::find(cures(), id, &Cure::id);
    return found == cures().end() ? nullptr : &*found;
}

}  // namespace pathproof::scenario
