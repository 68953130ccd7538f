#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "harness/lab/plan.h"
#include "harness/lab/topology.h"
#include "harness/lab/undo.h"
#include "harness/lab/veth_lab.h"
#include "harness/process/netns.h"
#include "harness/process/program.h"

namespace pathproof::lab {
namespace {

constexpr const char* kLocalPorts = "net.ipv4.ip_local_port_range";

Status build_path(const NatPathNames& names, Namespaces& namespaces) {
    TRY(namespaces.add(namespaces_of(names)));
    TRY(set_sysctls(names.dut, {{"net.ipv4.ip_forward", "1"}}));
    TRY(run_ip("", nat_path_links(names)));
    return run_ip(nat_path_scripts(names));
}

// Packets counted by the rules of a namespace whose line has that text.
Result<std::uint64_t> rule_hits(const std::string& netns, const std::string& text) {
    const auto rules = TRY(process::run_checked({"iptables-save", "--counters"}, {.netns = netns}));
    std::uint64_t hits = 0;
    std::istringstream lines(rules);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with('[') && line.find(text) != std::string::npos) {
            hits += std::strtoull(line.c_str() + 1, nullptr, 10);
        }
    }
    return hits;
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
    TRY(process::in_netns(lab->names_.client, [&]() -> Status {
        lab->client_ports_ = TRY(read_sysctl(kLocalPorts, {}));
        return {};
    }));
    // The rules first: they are what loads conntrack, where it is a module.
    TRY(lab->configure({}));
    TRY(make_watchable(lab->names_.dut));
    return lab;
}

Status NatPath::configure(const NatPathOptions& options) {
    TRY(load_rules(names_.dut, nat_path_rules(names_, options)));
    const PortRange& ports = options.client_ports;
    const Status set = set_sysctls(
        names_.client,
        {{"net.ipv4.tcp_timestamps", std::to_string(options.timestamps)},
         {kLocalPorts,
          ports.last == 0 ? client_ports_ : fmt::format("{} {}", ports.first, ports.last)}});
    const std::string timeout = std::to_string(options.udp_timeout_s);
    const Status timed =
        set ? set_sysctls(names_.dut, {{"net.netfilter.nf_conntrack_udp_timeout", timeout},
                                       {"net.netfilter.nf_conntrack_udp_timeout_stream", timeout}})
            : set;
    TRY(timed && options.tunnel ? make_tunnel(*options.tunnel) : timed);
    return options.flows == NatPathOptions::Flows::kForget ? flush_conntrack(names_.dut) : timed;
}

Status NatPath::make_tunnel(const TunnelOptions& options) {
    for (const std::string& netns : {names_.client, names_.server}) {
        TRY(load_rules(netns, tunnel_rules(names_, options)));
        if (has_tunnel_) {
            TRY(run_ip(netns, "link delete " + names_.vxlan + "\n"));
        }
    }
    has_tunnel_ = true;
    return run_ip(tunnel_scripts(names_, options));
}

Result<std::uint64_t> NatPath::service_hits() const {
    // "[12:624] -A FORWARD -d 198.51.100.10/32 -p udp ..."
    return rule_hits(names_.dut, " -d " + to_string(names_.service.address) + "/32 ");
}

Result<std::uint64_t> NatPath::icmp_dropped() const {
    return rule_hits(names_.dut, "--icmp-type 3/4 -j DROP");
}

Result<std::uint64_t> NatPath::fragments_dropped() const {
    const auto at_client = TRY(rule_hits(names_.client, " -f -j DROP"));
    const auto at_server = TRY(rule_hits(names_.server, " -f -j DROP"));
    return at_client + at_server;
}

std::vector<std::string> NatPath::forget_command(std::size_t endpoint) const {
    return {"conntrack",
            "-D",
            "-p",
            "udp",
            "--orig-dst",
            to_string(names_.service.address),
            "--orig-port-dst",
            std::to_string(names_.service.port),
            "--reply-src",
            to_string(names_.endpoints.at(endpoint))};
}

Result<std::uint64_t> NatPath::forget(std::size_t endpoint) {
    return forget(forget_command(endpoint));
}

Result<std::uint64_t> NatPath::forget(const std::vector<std::string>& command) {
    const auto ran = process::run_program(command, {.netns = names_.dut});
    if (!ran) {
        return fail(ErrorCode::kNotSupported, "{}; it is in the package conntrack",
                    ran.error().message);
    }
    // An entry a line; its exit status is 1 where there was none.
    return static_cast<std::uint64_t>(std::ranges::count(ran->out, '\n'));
}

}  // namespace pathproof::lab
