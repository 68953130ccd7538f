#include "harness/lab/nat_path.h"

#include "harness/lab/kube_proxy.h"
#include "harness/lab/path_settings.h"
#include "harness/lab/plan.h"
#include "harness/lab/topology.h"
#include "harness/setting/cures.h"

namespace pathproof::lab {
namespace {

using frame::Family;

Status build_path(const NatPathNames& names, Namespaces& namespaces) {
    TRY(namespaces.add(namespaces_of(names)));
    TRY(set_sysctls(names.dut, {{"net.ipv4.ip_forward", "1"}}));
    TRY(run_ip("", nat_path_links(names)));
    return run_ip(nat_path_scripts(names));
}

}  // namespace

NatPath::NatPath(Journal& journal)
    : names_(nat_path_names(journal.run_id())),
      names6_(nat_path_names(journal.run_id(), Family::kIpv6)),
      namespaces_(std::make_unique<Namespaces>(journal)) {}

NatPath::~NatPath() = default;

Result<std::unique_ptr<NatPath>> NatPath::build(Journal& journal) {
    std::unique_ptr<NatPath> lab(new NatPath(journal));
    TRY(doing(build_path(lab->names_, *lab->namespaces_), "build the nat-path lab"));
    TRY(lab->begin());
    return lab;
}

Status NatPath::begin(Tables tables) {
    TRY(hosts_.add({HostRole::kClient, HostRole::kTunnelEnds}, names_.client));
    TRY(hosts_.add({HostRole::kDut}, names_.dut, tables));
    TRY(hosts_.add({HostRole::kServer, HostRole::kTunnelEnds}, names_.server));
    return begin_settings();
}

Status NatPath::begin_settings() {
    hosts_.call(place_names(names_));
    // The rules first: they are what loads conntrack, where it is a module.
    TRY(hosts_.keep(path_defaults(names_)));
    return hosts_.keep(TRY(watchable(hosts_.agent(HostRole::kDut))));
}

Status NatPath::add_neighbour() {
    TRY(namespaces_->add({names_.neighbour}));
    TRY(run_ip(nat_path_neighbour_scripts(names_)));
    return begin_bridge();
}

Status NatPath::begin_bridge() {
    TRY(hosts_.add({HostRole::kNeighbour}, names_.neighbour));
    return keep_bridge();
}

Status NatPath::keep_bridge() {
    // Or else the client learns to send to the neighbour what the DUT would send back to it.
    TRY(hosts_.keep({setting::sysctl(HostRole::kDut, "net.ipv4.conf.all.send_redirects", "0"),
                     setting::sysctl(HostRole::kDut,
                                     "net.ipv4.conf." + names_.bridge + ".send_redirects", "0")}));
    const Status filters =
        hosts_.keep({setting::sysctl(HostRole::kDut, setting::kBridgeFilter, "0")});
    return filters ? filters
                   : fail(ErrorCode::kKernelLacks, "the module br_netfilter is not loaded ({})",
                          filters.error().message);
}

Status NatPath::add_shortcut() {
    TRY(run_ip(nat_path_shortcut_scripts(names_)));
    // Or else the client refuses what comes another way than it would go.
    return hosts_.keep(
        {setting::sysctl(HostRole::kClient, "net.ipv4.conf.all.rp_filter", "0"),
         setting::sysctl(HostRole::kClient,
                         "net.ipv4.conf." + names_.client_shortcut + ".rp_filter", "0")});
}

Status NatPath::ipv6_on(const std::string& netns, const std::vector<std::string>& devices) {
    // Without duplicate address detection neighbours can be asked at once.
    Sysctls values{{"net.ipv6.conf.all.accept_dad", "0"}};
    for (const std::string& device : devices) {
        values.emplace_back("net.ipv6.conf." + device + ".accept_dad", "0");
    }
    values.emplace_back("net.ipv6.conf.default.disable_ipv6", "0");
    values.emplace_back("net.ipv6.conf.all.disable_ipv6", "0");
    const Status on = set_sysctls(netns, values);
    return on ? on : fail(ErrorCode::kKernelLacks, "IPv6 is not there ({})", on.error().message);
}

Status NatPath::add_ipv6() {
    TRY(ipv6_on(names_.client, {names_.client_device}));
    TRY(ipv6_on(names_.dut, {names_.dut_client_device, names_.dut_server_device}));
    TRY(ipv6_on(names_.server, {names_.server_device}));
    TRY(set_sysctls(names_.dut, {{"net.ipv6.conf.all.forwarding", "1"}}));
    TRY(run_ip(nat_path_scripts(names6_)));
    return begin_ipv6();
}

Status NatPath::begin_ipv6() {
    has_ipv6_ = true;
    return hosts_.keep(path_defaults(names6_));
}

Status NatPath::add_server_addresses(const std::vector<frame::IpAddress>& addresses) {
    std::string commands;
    for (const frame::IpAddress& address : addresses) {
        commands +=
            fmt::format("address add {} dev {}{}\n", host_prefix(address), names_.server_device,
                        address.family == Family::kIpv6 ? " nodad" : "");
    }
    return run_ip(names_.server, commands);
}

// With what each rule of iptables has counted.
Result<std::string> NatPath::counted_rules(Family family) const {
    return hosts_.agent(HostRole::kDut)
        .output_of({family == Family::kIpv4 ? "iptables-save" : "ip6tables-save", "--counters"});
}

}  // namespace pathproof::lab
