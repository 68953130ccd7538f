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

// With what each rule of iptables has counted.
Result<std::string> rules_of(const std::string& netns) {
    return process::run_checked({"iptables-save", "--counters"}, {.netns = netns});
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
                                       {"net.netfilter.nf_conntrack_udp_timeout_stream", timeout},
                                       {kBeLiberal, options.be_liberal ? "1" : "0"}})
            : set;
    TRY(timed && options.tunnel ? make_tunnel(*options.tunnel) : timed);
    TRY(has_shortcut_ ? run_ip({nat_path_route_of_answers(names_, options)}) : Status());
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

Status NatPath::add_neighbour() {
    TRY(namespaces_->add({names_.neighbour}));
    TRY(run_ip("", nat_path_neighbour_link(names_)));
    TRY(run_ip(nat_path_neighbour_scripts(names_)));
    // Or else the client learns to send to the neighbour what the DUT would send back to it.
    TRY(set_sysctls(names_.dut, {{"net.ipv4.conf.all.send_redirects", "0"},
                                 {"net.ipv4.conf." + names_.bridge + ".send_redirects", "0"}}));
    const Status filters = set_sysctls(names_.dut, {{kBridgeFilter, "0"}});
    return filters ? filters
                   : fail(ErrorCode::kKernelLacks, "the module br_netfilter is not loaded ({})",
                          filters.error().message);
}

Status NatPath::add_shortcut() {
    TRY(run_ip("", nat_path_shortcut_link(names_)));
    TRY(run_ip(nat_path_shortcut_scripts(names_)));
    // Or else the client refuses what comes another way than it would go.
    TRY(set_sysctls(names_.client,
                    {{"net.ipv4.conf.all.rp_filter", "0"},
                     {"net.ipv4.conf." + names_.client_shortcut + ".rp_filter", "0"}}));
    has_shortcut_ = true;
    return {};
}

Status NatPath::add_endpoints() {
    TRY(run_ip(nat_path_endpoint_scripts(names_)));
    TRY(load_rules(names_.server, nat_path_endpoint_filter(EndpointState::kSilent)));
    TRY(load_rules(names_.dut, nat_path_endpoint_filter(EndpointState::kRejected)));
    // A client is told of each connect that is rejected, not of one a second.
    return set_sysctls(names_.dut, {{"net.ipv4.icmp_ratelimit", "0"}});
}

Result<std::string> NatPath::set_node_cache(const std::optional<NodeCacheRules>& rules) {
    TRY(load_rules(names_.dut, node_cache_rules(names_, rules)));
    if (has_node_cache_) {
        TRY(run_ip(names_.dut, "link delete " + names_.node_cache_device + "\n"));
    }
    has_node_cache_ = rules.has_value();
    if (!rules) {
        return std::string();
    }
    const Status dummy = run_ip(names_.dut, node_cache_device(names_, "dummy"));
    if (dummy || dummy.error().code != ErrorCode::kKernelLacks) {
        TRY(Status(dummy));
        return std::string("dummy");
    }
    TRY(run_ip(names_.dut, node_cache_device(names_, "bridge")));
    return std::string("bridge without ports");
}

namespace {

// Of lines that begin so and have the words: the sum of what they counted.
std::uint64_t counted(const std::string& rules, const std::string& begin,
                      const std::string& words) {
    std::uint64_t hits = 0;
    std::istringstream lines(rules);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with(begin) && (line + " ").find(words) != std::string::npos) {
            hits += std::strtoull(line.c_str() + line.find('[') + 1, nullptr, 10);
        }
    }
    return hits;
}

}  // namespace

std::uint64_t hits_of(const std::string& rules, const std::string& words) {
    return counted(rules, "[",
                   words + " ");  // "[12:624] -A FORWARD -d 198.51.100.10/32 -p udp ..."
}

std::uint64_t policy_hits_of(const std::string& rules, const std::string& chain) {
    return counted(rules, ":" + chain + " ", "[");  // ":INPUT DROP [12:624]"
}

Status NatPath::set_node_cache_rules(const NodeCacheRules& rules) {
    return load_rules(names_.dut, node_cache_rules(names_, rules));
}

Result<std::string> NatPath::counted_rules() const {
    return rules_of(names_.dut);
}

Result<std::uint64_t> NatPath::service_hits() const {
    const auto rules = TRY(counted_rules());
    return hits_of(rules, " -d " + to_string(names_.service.address) + "/32");
}

Result<std::uint64_t> NatPath::invalid_hits() const {
    const auto rules = TRY(counted_rules());
    return hits_of(rules,
                   "-o " + names_.dut_client_device + " -p tcp -m conntrack --ctstate INVALID");
}

Result<std::uint64_t> NatPath::icmp_dropped() const {
    const auto rules = TRY(counted_rules());
    return hits_of(rules, "--icmp-type 3/4 -j DROP");
}

Result<std::uint64_t> NatPath::fragments_dropped() const {
    const auto at_client = TRY(rules_of(names_.client));
    const auto at_server = TRY(rules_of(names_.server));
    return hits_of(at_client, " -f -j DROP") + hits_of(at_server, " -f -j DROP");
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
