#include "harness/setting/cures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace pathproof::setting {
namespace {

// Makes a cure that is one setting, with the setting's own command.
Cure set_by(Setting setting, const char* where) {
    Cure cure{.id = setting.id, .command = setting.command, .where = where};
    cure.settings.push_back(std::move(setting));
    return cure;
}

// A sysctl, named "net.ipv4.tcp_timestamps=2".
Cure sysctl_cure(HostRole host, const char* name, const char* value, const char* id,
                 const char* where, const char* first = "") {
    Cure cure = set_by(sysctl(host, name, value, id), where);
    cure.in_words = fmt::format("{}={}", name, value);
    cure.brief = bare_sysctl(cure.in_words);
    cure.told_command = *first == '\0' ? "" : first + cure.command;
    return cure;
}

Cure random_fully() {
    const char* const option = "--random-fully";
    const std::string target = fmt::format("{} {}", kMasquerade, option);
    Cure cure = set_by({.id = "random-fully",
                        .host = HostRole::kDut,
                        .changes = {},
                        .command = target,
                        .amends = Amendment{kMasquerade, target}},
                       "on the DUT");
    cure.brief = option;
    return cure;
}

Cure be_liberal() {
    Cure cure = sysctl_cure(HostRole::kDut, kBeLiberal, "1", "be-liberal", "on the DUT");
    cure.brief = "be_liberal=1";
    return cure;
}

// Drops INVALID packets. A rule that counts them and lets them pass is amended to drop them, too.
Cure drop_invalid() {
    const std::string state = "-m conntrack --ctstate INVALID ";
    Setting setting = rules(HostRole::kDut, "drop-invalid", "filter", invalid_rules("DROP"),
                            "iptables -A FORWARD " + state + "-j DROP");
    setting.amends = Amendment{state + "-j ACCEPT", state + "-j DROP"};
    Cure cure = set_by(std::move(setting), "on the DUT");
    cure.brief = "INVALID dropped";
    return cure;
}

Setting allow_dns_tcp() {
    const std::string rule = "FORWARD -p tcp --dport 53 -j ACCEPT";
    return rules(HostRole::kDut, "allow-dns-tcp", "filter", "-A " + rule + "\n",
                 "iptables -I " + rule);
}

Setting hairpin() {
    return rules(HostRole::kDut, "hairpin-masquerade", "nat",
                 "-A PATH-POSTROUTING -s $CLIENTS -d $CLIENTS -p udp -j MASQUERADE\n");
}

constexpr const char* kHairpin = "MASQUERADE of what goes from the clients' network back to it";

Cure in_resolver(const char* id, const char* options, const char* where = "in resolv.conf") {
    return {.id = id,
            .command = std::string("options ") + options,
            .where = where,
            .resolver = options};
}

}  // namespace

std::string invalid_rules(const std::string& target) {
    std::string lines;
    for (const char* device : {"$TO_CLIENT", "$TO_SERVER"}) {
        lines += fmt::format("-A FORWARD -o {} -p tcp -m conntrack --ctstate INVALID -j {}\n",
                             device, target);
    }
    return lines;
}

std::string Cure::quoted(const Names& names) const {
    return command.empty() ? "" : fmt::format("`{}`", with_names(command, names));
}

std::string Cure::text(const Names& names) const {
    if (command.empty()) {
        return where;
    }
    return where.empty() ? quoted(names) : fmt::format("{} {}", quoted(names), where);
}

std::string Cure::told() const {
    const std::string& typed = told_command.empty() ? command : told_command;
    return typed.empty() ? in_words : fmt::format("`{}`", typed);
}

const std::vector<Cure>& all_cures() {
    static const std::vector<Cure> cures = {
        random_fully(),
        sysctl_cure(HostRole::kClient, kTimestamps, "2", "timestamps-2", "on the clients"),
        set_by(
            feature(HostRole::kTunnelEnds, "$TUNNEL", kTunnelChecksums, false, "tx-checksum-off"),
            "on every node"),
        in_resolver("single-request", "single-request"),
        in_resolver("single-request-reopen", "single-request-reopen"),
        in_resolver("use-vc", "use-vc"),
        in_resolver("no-aaaa", "no-aaaa", "in resolv.conf (glibc 2.36)"),
        in_resolver("ndots-2", "ndots:2"),
        in_resolver("ndots-1", "ndots:1"),
        {.id = "trailing-dot", .command = "", .where = "a dot behind the name", .dot = true},
        drop_invalid(),
        be_liberal(),
        sysctl_cure(HostRole::kDut, kBridgeFilter, "1", "bridge-nf", "on the DUT",
                    "modprobe br_netfilter; "),
        sysctl_cure(HostRole::kDut, "net.ipv4.vs.conn_reuse_mode", "0", "reuse-mode-0",
                    "on the DUT"),
        sysctl_cure(HostRole::kDut, "net.ipv4.vs.expire_nodest_conn", "1", "expire-nodest",
                    "on the DUT"),
        {.id = "hairpin-masquerade",
         .command = "",
         .where = kHairpin,
         .settings = {hairpin()},
         .told_command = "iptables -t nat -A POSTROUTING -s PODS -d PODS -j MASQUERADE",
         .in_words = kHairpin},
        {.id = "delete-stale-entries",
         .command = "conntrack -D",
         .where = "of the entries of a service to an endpoint that is gone",
         .in_words = "delete the flow's entry"},
        {.id = "delete-unused-entries",
         .command = "conntrack -D",
         .where = "of entries that nobody uses",
         .in_words = "delete entries that nobody uses"},
        {.id = "rules-of-the-living",
         .command = "",
         .where = "rules that name the endpoints which serve",
         .in_words =
             "have the node's proxy write the service's rules anew, of the endpoints that serve"},
        {.id = "all-ports",
         .command = "",
         .where = "MASQUERADE without --to-ports",
         .in_words = "MASQUERADE without --to-ports"},
        {.id = "tunnel-mtu",
         .command = "",
         .where = "an MTU of the tunnel that fits the hop",
         .in_words = "an MTU of the tunnel that fits the hop"},
        {.id = "mss-clamp",
         .command = "",
         .where = "an MSS that fits the hop (`-j TCPMSS --set-mss`)",
         .in_words = "an MSS that fits the hop"},
        {.id = "outer-df",
         .command = "",
         .where = "DF in the tunnel's outer header, and the router's ICMP let through",
         .in_words = "outer DF set, and the routers' ICMP let through"},
        {.id = "consistent-cache",
         .command = "",
         .where = "a cache that keeps A and AAAA together"},
        {.id = "max-idle", .command = "max_idle_conns 10", .where = "of the cache"},
        {.id = "more-workers",
         .command = "--max-tcp-connections=200",
         .where = "of dnsmasq",
         .told_command = "dnsmasq --max-tcp-connections"},
        {.id = "prefer-udp", .command = "prefer_udp", .where = "of the cache"},
        {.id = "forward-max",
         .command = "--dns-forward-max=1500",
         .where = "of dnsmasq",
         .told_command = "dnsmasq --dns-forward-max"},
        {.id = "edns-1232", .command = "max-udp-size 1232", .where = "of the DNS server"},
        set_by(allow_dns_tcp(), "on the DUT"),
        {.id = "ask-for-the-name-first",
         .command = "",
         .where = "a dot behind the name, or `ndots:2`",
         .in_words = "a dot behind the name, or `ndots:2` (dnsConfig.options of the pod)"},
        {.id = "nodelocal",
         .command = "",
         .where = "NodeLocal DNSCache on the node",
         .in_words = "NodeLocal DNSCache on each node"},
    };
    return cures;
}

const Cure* find_cure(std::string_view id) {
    const auto found = std::ranges::find(all_cures(), id, &Cure::id);
    return found == all_cures().end() ? nullptr : &*found;
}

const Cure& cure(const std::string& id) {
    const Cure* found = find_cure(id);
    assert(found != nullptr);
    return *found;
}

}  // namespace pathproof::setting
