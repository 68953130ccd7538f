#include "harness/lab/nat_path.h"

#include "harness/lab/kube_proxy.h"
#include "harness/lab/link_changes.h"
#include "harness/lab/namespaces.h"
#include "harness/lab/path_settings.h"
#include "harness/lab/plan.h"
#include "harness/setting/cures.h"

namespace pathproof::lab {
namespace {

using frame::Family;

// Without duplicate address detection neighbours can be asked at once.
Settings ipv6_on(HostRole host, const std::vector<std::string>& devices) {
    Settings settings{setting::sysctl(host, "net.ipv6.conf.all.accept_dad", "0")};
    for (const std::string& device : devices) {
        settings.push_back(
            setting::sysctl(host, fmt::format("net.ipv6.conf.{}.accept_dad", device), "0"));
    }
    settings.push_back(setting::sysctl(host, "net.ipv6.conf.default.disable_ipv6", "0"));
    settings.push_back(setting::sysctl(host, "net.ipv6.conf.all.disable_ipv6", "0"));
    return settings;
}

}  // namespace

NatPath::NatPath(Journal& journal)
    : names_(nat_path_names(journal.run_id())),
      names6_(nat_path_names(journal.run_id(), Family::kIpv6)),
      namespaces_(std::make_unique<Namespaces>(journal)) {}

NatPath::~NatPath() = default;

Result<std::unique_ptr<NatPath>> NatPath::build(Journal& journal) {
    std::unique_ptr<NatPath> lab(new NatPath(journal));
    TRY(doing(realise(nat_path_topology(lab->names_), *lab->namespaces_, lab->hosts_),
              "build the nat-path lab"));
    TRY(lab->begin_settings());
    return lab;
}

Status NatPath::begin_settings() {
    hosts_.call(place_names(names_));
    // The rules first: they are what loads conntrack, where it is a module.
    TRY(hosts_.keep(path_defaults(names_)));
    return hosts_.keep(TRY(watchable(hosts_.agent(HostRole::kDut))));
}

Status NatPath::add_neighbour() {
    const Topology neighbour = nat_path_neighbour(names_);
    TRY(realise(neighbour, *namespaces_, hosts_));
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
    TRY(make_links({nat_path_shortcut(names_)}));
    for (const auto& [host, device] : {std::pair{HostRole::kClient, names_.client_shortcut},
                                       {HostRole::kServer, names_.server_shortcut}}) {
        TRY(hosts_.agent(host).output_of({"ip", "link", "set", "dev", device, "up"}));
    }
    // Or else the client refuses what comes another way than it would go.
    return hosts_.keep(
        {setting::sysctl(HostRole::kClient, "net.ipv4.conf.all.rp_filter", "0"),
         setting::sysctl(HostRole::kClient,
                         "net.ipv4.conf." + names_.client_shortcut + ".rp_filter", "0")});
}

Status NatPath::keep_ipv6(HostRole host, const std::vector<std::string>& devices) {
    const Status on = hosts_.keep(ipv6_on(host, devices));
    return on ? on : fail(ErrorCode::kKernelLacks, "IPv6 is not there ({})", on.error().message);
}

Status NatPath::add_ipv6() {
    TRY(keep_ipv6(HostRole::kClient, {names_.client_device}));
    TRY(keep_ipv6(HostRole::kDut, {names_.dut_client_device, names_.dut_server_device}));
    TRY(keep_ipv6(HostRole::kServer, {names_.server_device}));
    TRY(hosts_.keep({setting::sysctl(HostRole::kDut, "net.ipv6.conf.all.forwarding", "1")}));
    TRY(hosts_.keep(nat_path_ipv6(names6_)));
    return begin_ipv6();
}

Status NatPath::begin_ipv6() {
    has_ipv6_ = true;
    return hosts_.keep(path_defaults(names6_));
}

Status NatPath::add_server_addresses(const std::vector<frame::IpAddress>& addresses) {
    setting::Setting more{.id = "addresses from " + to_string(addresses.front()),
                          .host = HostRole::kServer,
                          .changes = {},
                          .command = ""};
    for (const frame::IpAddress& address : addresses) {
        more.changes.push_back(address_change(names_.server_device, host_prefix(address)));
    }
    return hosts_.keep({std::move(more)});
}

// With what each rule of iptables has counted.
Result<std::string> NatPath::counted_rules(Family family) const {
    return hosts_.agent(HostRole::kDut)
        .output_of({family == Family::kIpv4 ? "iptables-save" : "ip6tables-save", "--counters"});
}

}  // namespace pathproof::lab
