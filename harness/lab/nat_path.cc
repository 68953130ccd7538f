#include "harness/lab/plan.h"
#include "harness/lab/topology.h"
#include "harness/lab/undo.h"
#include "harness/lab/veth_lab.h"
#include "harness/process/netns.h"

namespace pathproof::lab {
namespace {

constexpr const char* kLocalPorts = "net.ipv4.ip_local_port_range";

Status build_path(const NatPathNames& names, Namespaces& namespaces) {
    if (const Status added = namespaces.add(namespaces_of(names)); !added) {
        return added;
    }
    if (const Status forwards = set_sysctls(names.dut, {{"net.ipv4.ip_forward", "1"}}); !forwards) {
        return forwards;
    }
    if (const Status made = run_ip("", nat_path_links(names)); !made) {
        return made;
    }
    return run_ip(nat_path_scripts(names));
}

}  // namespace

NatPath::NatPath() = default;
NatPath::~NatPath() = default;

Result<std::unique_ptr<NatPath>> NatPath::build(Journal& journal) {
    std::unique_ptr<NatPath> lab(new NatPath);
    lab->names_ = nat_path_names(journal.run_id());
    lab->namespaces_ = std::make_unique<Namespaces>(journal);
    if (const Status built = build_path(lab->names_, *lab->namespaces_); !built) {
        return fail(built.error(), "build the nat-path lab");
    }
    const Status read = process::in_netns(lab->names_.client, [&]() -> Status {
        auto ports = read_sysctl(kLocalPorts, {});
        if (!ports) {
            return pass_on(ports.error());
        }
        lab->client_ports_ = std::move(*ports);
        return {};
    });
    if (!read) {
        return pass_on(read.error());
    }
    // The rules first: they are what loads conntrack, where it is a module.
    if (const Status configured = lab->configure({}); !configured) {
        return pass_on(configured.error());
    }
    if (const Status watched = make_watchable(lab->names_.dut); !watched) {
        return pass_on(watched.error());
    }
    return lab;
}

Status NatPath::configure(const NatPathOptions& options) {
    if (const Status loaded = load_rules(names_.dut, nat_path_rules(names_, options)); !loaded) {
        return loaded;
    }
    const PortRange& ports = options.client_ports;
    const Status set = set_sysctls(
        names_.client,
        {{"net.ipv4.tcp_timestamps", std::to_string(options.timestamps)},
         {kLocalPorts,
          ports.last == 0 ? client_ports_ : fmt::format("{} {}", ports.first, ports.last)}});
    return set ? flush_conntrack(names_.dut) : set;
}

}  // namespace pathproof::lab
