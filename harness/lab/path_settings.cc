#include "harness/lab/path_settings.h"

#include <fmt/format.h>

#include "harness/setting/cures.h"

namespace pathproof::lab {
namespace {

using agent::HostChange;
using setting::Setting;

std::string path_id(const char* id, frame::Family family) {
    return setting::table_name(id, family);
}

std::string snat_rule(const NatPathNames& names, const PathSnat& how) {
    if (how.snat == Snat::kNone) {
        return names.own_snat == Snat::kNone
                   ? ""
                   : fmt::format("-A PATH-POSTROUTING -o $TO_SERVER {}\n", target_of(how.snat));
    }
    if (how.snat == names.own_snat && how.ports.last == 0) {
        return "";
    }
    const std::string ports =
        how.ports.last == 0 ? ""
                            : fmt::format(" --to-ports {}-{}", how.ports.first, how.ports.last);
    return fmt::format("-A PATH-POSTROUTING -o $TO_SERVER -p {} {}{}\n", how.protocol,
                       target_of(how.snat), ports);
}

}  // namespace

setting::Names place_names(const NatPathNames& names) {
    return {{"$TO_CLIENT", names.dut_client_device},
            {"$TO_SERVER", names.dut_server_device},
            {"$OF_CLIENT", names.client_device},
            {"$OF_SERVER", names.server_device},
            {"$TUNNEL", names.vxlan},
            {"$CLIENTS", to_string(names.dut_client_address) + "/24"}};
}

Setting path_chains(frame::Family family) {
    // Without a match or a target of conntrack's the kernel looks at no packet (nf_ct_netns_get), and
    // translates none.
    return setting::rules(HostRole::kDut, path_id("path-chains", family), "nat",
                          ":PATH-SERVICES - [0:0]\n"
                          ":PATH-POSTROUTING - [0:0]\n"
                          "-A PREROUTING -m conntrack --ctstate NEW -j PATH-SERVICES\n"
                          "-A POSTROUTING -j PATH-POSTROUTING\n",
                          "", family);
}

Setting masquerade(const NatPathNames& names, const PathSnat& how) {
    const frame::Family family = names.client_address.family;
    return setting::rules(HostRole::kDut, path_id("masquerade", family), "nat",
                          snat_rule(names, how), "", family);
}

Setting client_ports(const PortRange& ports) {
    return setting::sysctl(HostRole::kClient, "net.ipv4.ip_local_port_range",
                           fmt::format("{} {}", ports.first, ports.last), "client-ports");
}

Setting udp_timeout(unsigned seconds) {
    const std::string value = std::to_string(seconds);
    Setting setting = setting::sysctl(HostRole::kDut, "net.netfilter.nf_conntrack_udp_timeout",
                                      value, "udp-timeout");
    setting.changes.push_back({.kind = HostChange::Kind::kSysctl,
                               .name = "net.netfilter.nf_conntrack_udp_timeout_stream",
                               .value = value});
    return setting;
}

Settings path_defaults(const NatPathNames& names) {
    Settings settings = {path_chains(names.client_address.family),
                         masquerade(names, {.snat = Snat::kNone})};
    if (names.client_address.family == frame::Family::kIpv4) {
        settings.push_back(udp_timeout(30));
        settings.push_back(setting::sysctl(HostRole::kClient, setting::kTimestamps, "1"));
        settings.push_back(setting::sysctl(HostRole::kDut, setting::kBeLiberal, "0"));
    }
    return settings;
}

Result<Settings> watchable(agent::Client& dut, HostRole role) {
    Settings settings;
    for (const char* name :
         {"net.netfilter.nf_conntrack_acct", "net.netfilter.nf_conntrack_timestamp"}) {
        settings.push_back(setting::sysctl(role, name, "1"));
        settings.back().changes[0].allowed = HostChange::Allowed::kIsMissing;
    }
    const auto events = dut.read_sysctl("net.netfilter.nf_conntrack_events");
    if (events && *events == "0") {
        settings.push_back(setting::sysctl(role, "net.netfilter.nf_conntrack_events", "1"));
    }
    return settings;
}

}  // namespace pathproof::lab
