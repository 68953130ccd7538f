#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <utility>

#include "harness/lab/kube_proxy.h"
#include "harness/lab/plan.h"
#include "harness/lab/topology.h"
#include "harness/lab/undo.h"
#include "harness/lab/veth_lab.h"
#include "harness/netfilter/dump.h"
#include "harness/process/foreign.h"
#include "harness/process/netns.h"
#include "harness/process/program.h"

namespace pathproof::lab {
namespace {

using frame::Family;

constexpr const char* kLocalPorts = "net.ipv4.ip_local_port_range";

Status build_path(const NatPathNames& names, Namespaces& namespaces) {
    TRY(namespaces.add(namespaces_of(names)));
    TRY(set_sysctls(names.dut, {{"net.ipv4.ip_forward", "1"}}));
    TRY(run_ip("", nat_path_links(names)));
    return run_ip(nat_path_scripts(names));
}

// With what each rule of iptables has counted.
Result<std::string> rules_of(const std::string& netns, frame::Family family = Family::kIpv4) {
    return process::run_checked(
        {family == Family::kIpv4 ? "iptables-save" : "ip6tables-save", "--counters"},
        {.netns = netns});
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

Status NatPath::begin() {
    client_ports_ =
        TRY(process::in_netns(names_.client, [] { return read_sysctl(kLocalPorts, {}); }));
    // The rules first: they are what loads conntrack, where it is a module.
    TRY(configure({}));
    return make_watchable(names_.dut);
}

Status NatPath::load(const std::string& rules, Family family) {
    return load_rules(names_.dut, rules, family);
}

Status NatPath::configure(const NatPathOptions& asked) {
    const NatPathOptions options = with_cure(asked, cure_);
    TRY(load(nat_path_rules(names(options.family), options), options.family));
    TRY(load_proxy_table(options));
    TRY(load_ipvs(options));
    const PortRange& ports = options.client_ports;
    TRY(set_sysctls(
        names_.client,
        {{"net.ipv4.tcp_timestamps", std::to_string(options.timestamps)},
         {kLocalPorts,
          ports.last == 0 ? client_ports_ : fmt::format("{} {}", ports.first, ports.last)}}));
    const std::string timeout = std::to_string(options.udp_timeout_s);
    TRY(set_sysctls(names_.dut, {{"net.netfilter.nf_conntrack_udp_timeout", timeout},
                                 {"net.netfilter.nf_conntrack_udp_timeout_stream", timeout},
                                 {kBeLiberal, options.be_liberal ? "1" : "0"}}));
    TRY(options.tunnel ? make_tunnel(*options.tunnel) : Status());
    TRY(cure_.bridge_filters ? set_sysctls(names_.dut, {{kBridgeFilter, "1"}}) : Status());
    TRY(has_shortcut_ ? run_ip({nat_path_route_of_answers(names_, options)}) : Status());
    return options.flows == NatPathOptions::Flows::kForget ? netfilter::flush(names_.dut)
                                                           : Status();
}

Status NatPath::load_proxy_table(const NatPathOptions& options) {
    const bool wanted = options.proxy == NatPathOptions::Proxy::kNftables;
    if (!wanted && !has_proxy_table_) {
        return {};
    }
    TRY(load_nft(names_.dut, kube_nft_no_table(Family::kIpv4) + kube_nft_no_table(Family::kIpv6)));
    has_proxy_table_ = wanted;
    return wanted ? load_nft(names_.dut, nat_path_proxy_table(names(options.family), options))
                  : Status();
}

std::set<NatPath::IpvsRoute> NatPath::ipvs_routes(const NatPathOptions& options) const {
    std::set<IpvsRoute> routes;
    if (options.proxy != NatPathOptions::Proxy::kIpvs) {
        return routes;
    }
    if (options.service != NatPathOptions::Service::kNone) {
        const bool second = options.service == NatPathOptions::Service::kSecond;
        routes.emplace(
            "-u", to_string(names_.service),
            to_string(frame::Endpoint{names_.endpoints.at(second ? 1 : 0), names_.service.port}));
    }
    for (const frame::IpAddress& endpoint : options.web_endpoints) {
        routes.emplace("-t", to_string(names_.web_service),
                       to_string(frame::Endpoint{endpoint, kEndpointPort}));
    }
    return routes;
}

// Endpoints change as kube-proxy changes them for UDP: new ones are added, old ones deleted.
Status NatPath::load_ipvs(const NatPathOptions& options) {
    const auto ipvs = [&](std::vector<std::string> words) -> Status {
        words.insert(words.begin(), "ipvsadm");
        TRY(process::run_checked(words, {.netns = names_.dut}));
        return {};
    };
    const std::set<IpvsRoute> wanted = ipvs_routes(options);
    const std::set<IpvsRoute> before = std::exchange(ipvs_routes_, wanted);
    if (wanted.empty()) {
        TRY(before.empty() ? Status() : ipvs({"-C"}));
        return before.empty() ? Status()
                              : run_ip(names_.dut, "link delete " + names_.ipvs_device + "\n");
    }
    if (before.empty()) {
        TRY(run_ip(names_.dut, fmt::format("link add {0} type dummy\naddress add {1}/32 dev {0}\n",
                                           names_.ipvs_device, to_string(names_.service.address))));
    }
    const auto serves = [](const std::set<IpvsRoute>& routes, const std::string& protocol) {
        return std::ranges::any_of(
            routes, [&](const IpvsRoute& route) { return std::get<0>(route) == protocol; });
    };
    for (const auto& [protocol, service, endpoint] : wanted) {
        TRY(serves(before, protocol) ? Status() : ipvs({"-A", protocol, service, "-s", "rr"}));
        TRY(before.contains({protocol, service, endpoint})
                ? Status()
                : ipvs({"-a", protocol, service, "-r", endpoint, "-m"}));
    }
    for (const auto& [protocol, service, endpoint] : before) {
        TRY(wanted.contains({protocol, service, endpoint})
                ? Status()
                : ipvs({"-d", protocol, service, "-r", endpoint}));
    }
    return set_sysctls(
        names_.dut, {{"net.ipv4.vs.conntrack", "1"},
                     {"net.ipv4.vs.conn_reuse_mode", std::to_string(options.ipvs_reuse_mode)},
                     {"net.ipv4.vs.expire_nodest_conn", options.ipvs_expires_nodest ? "1" : "0"}});
}

std::string NatPath::lacks_ipvs() const {
    const auto asked = process::run_program({"ipvsadm", "-L", "-n"}, {.netns = names_.dut});
    return !asked || asked->exit_status == 127 ? "ipvsadm is missing: install the package ipvsadm"
           : asked->exit_status != 0           ? "this kernel has no IPVS (module ip_vs)"
                                               : "";
}

Result<std::vector<std::string>> NatPath::ipvs_connections() const {
    const auto text =
        TRY(process::run_checked({"ipvsadm", "-L", "-c", "-n"}, {.netns = names_.dut}));
    std::vector<std::string> connections;
    for (const std::string& line : process::lines_of(text)) {
        std::istringstream words(line);
        const std::vector<std::string> all{std::istream_iterator<std::string>(words), {}};
        if (all.size() == 6) {
            connections.push_back(fmt::format("{}", fmt::join(all, " ")));
        }
    }
    return connections;
}

Result<std::string> NatPath::ipvs_connection(std::uint16_t source_port) const {
    const std::string ends =
        fmt::format(" {} {} ", to_string(frame::Endpoint{names_.client_address, source_port}),
                    to_string(names_.service));
    const auto connections = TRY(ipvs_connections());
    const auto found = std::ranges::find_if(connections, [&](const std::string& line) {
        return line.starts_with("UDP ") && line.find(ends) != std::string::npos;
    });
    return found == connections.end() ? std::string() : *found;
}

Status NatPath::make_tunnel(const TunnelOptions& options) {
    for (const std::string& netns : {names_.client, names_.server}) {
        TRY(load_rules(netns, tunnel_rules(names_, options)));
        if (has_tunnel_) {
            TRY(run_ip(netns, "link delete " + names_.vxlan + "\n"));
        }
    }
    has_tunnel_ = true;
    TRY(run_ip(tunnel_scripts(names_, options)));
    for (const std::string& netns : {names_.client, names_.server}) {
        TRY(cure_.tunnel_checksums ? Status()
                                   : switch_off(netns, names_.vxlan, {"tx-checksum-ip-generic"}));
    }
    return {};
}

Status NatPath::add_neighbour() {
    TRY(namespaces_->add({names_.neighbour}));
    TRY(run_ip(nat_path_neighbour_scripts(names_)));
    return begin_bridge();
}

Status NatPath::begin_bridge() {
    // Or else the client learns to send to the neighbour what the DUT would send back to it.
    TRY(set_sysctls(names_.dut, {{"net.ipv4.conf.all.send_redirects", "0"},
                                 {"net.ipv4.conf." + names_.bridge + ".send_redirects", "0"}}));
    const Status filters = set_sysctls(names_.dut, {{kBridgeFilter, "0"}});
    return filters ? filters
                   : fail(ErrorCode::kKernelLacks, "the module br_netfilter is not loaded ({})",
                          filters.error().message);
}

Status NatPath::add_shortcut() {
    TRY(run_ip(nat_path_shortcut_scripts(names_)));
    // Or else the client refuses what comes another way than it would go.
    TRY(set_sysctls(names_.client,
                    {{"net.ipv4.conf.all.rp_filter", "0"},
                     {"net.ipv4.conf." + names_.client_shortcut + ".rp_filter", "0"}}));
    has_shortcut_ = true;
    return {};
}

Status NatPath::add_ipv6() {
    for (const auto& [netns, devices] :
         {std::pair{names_.client, std::vector{names_.client_device}},
          {names_.dut, {names_.dut_client_device, names_.dut_server_device}},
          {names_.server, {names_.server_device}}}) {
        // Without duplicate address detection neighbours can be asked at once.
        Sysctls values{{"net.ipv6.conf.all.accept_dad", "0"}};
        for (const std::string& device : devices) {
            values.emplace_back("net.ipv6.conf." + device + ".accept_dad", "0");
        }
        values.emplace_back("net.ipv6.conf.default.disable_ipv6", "0");
        values.emplace_back("net.ipv6.conf.all.disable_ipv6", "0");
        if (const Status on = set_sysctls(netns, values); !on) {
            return fail(ErrorCode::kKernelLacks, "IPv6 is not there ({})", on.error().message);
        }
    }
    TRY(set_sysctls(names_.dut, {{"net.ipv6.conf.all.forwarding", "1"}}));
    TRY(run_ip(nat_path_scripts(names6_)));
    has_ipv6_ = true;
    return {};
}

Status NatPath::add_endpoints() {
    for (const Family family : {Family::kIpv4, Family::kIpv6}) {
        if (family == Family::kIpv6 && !has_ipv6_) {
            continue;
        }
        TRY(run_ip(nat_path_endpoint_scripts(names(family))));
        TRY(load_rules(names_.server, nat_path_endpoint_filter(EndpointState::kSilent, family),
                       family));
        TRY(load(nat_path_endpoint_filter(EndpointState::kRejected, family), family));
    }
    // A client is told of each connect that is rejected, not of one a second.
    TRY(set_sysctls(names_.dut, {{"net.ipv4.icmp_ratelimit", "0"}}));
    return has_ipv6_ ? set_sysctls(names_.dut, {{"net.ipv6.icmp.ratelimit", "0"}}) : Status();
}

Result<std::string> NatPath::set_node_cache(const std::optional<NodeCacheRules>& rules) {
    TRY(load(node_cache_rules(names_, rules), Family::kIpv4));
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
    for (const std::string& line : process::lines_of(rules)) {
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
    return counted(rules, ":" + chain + " DROP ", "[");  // ":INPUT DROP [12:624]"
}

Status NatPath::set_node_cache_rules(const NodeCacheRules& rules) {
    return load(node_cache_rules(names_, rules), Family::kIpv4);
}

std::uint64_t nft_hits_of(const std::string& table, const std::string& words) {
    constexpr std::string_view kCounter = "counter packets ";
    std::uint64_t hits = 0;
    for (const std::string& line : process::lines_of(table)) {
        // "meta l4proto tcp counter packets 12 bytes 624 dnat to 203.0.113.16:8080"
        if (const std::size_t at = line.find(kCounter);
            at != std::string::npos && line.ends_with(words)) {
            hits += std::strtoull(line.c_str() + at + kCounter.size(), nullptr, 10);
        }
    }
    return hits;
}

Result<std::string> NatPath::counted_rules(Family family) const {
    return rules_of(names_.dut, family);
}

Result<std::vector<std::uint64_t>> NatPath::endpoint_hits(const NatPathOptions& options) const {
    const bool nft = options.proxy == NatPathOptions::Proxy::kNftables;
    const auto rules = TRY(
        nft ? process::run_checked({"nft", "list", "table",
                                    options.family == Family::kIpv4 ? "ip" : "ip6", "kube-proxy"},
                                   {.netns = names_.dut})
            : counted_rules(options.family));
    std::vector<std::uint64_t> hits;
    for (const frame::IpAddress& address : options.web_endpoints) {
        const std::string to = to_string(frame::Endpoint{address, kEndpointPort});
        hits.push_back(nft ? nft_hits_of(rules, " dnat to " + to)
                           : hits_of(rules, " --to-destination " + to));
    }
    return hits;
}

Result<std::uint64_t> NatPath::service_hits(Family family) const {
    const auto rules = TRY(counted_rules(family));
    return hits_of(rules, " -d " + host_prefix(names(family).service.address));
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

std::vector<std::string> NatPath::forget_command(std::size_t endpoint, Family family) const {
    const NatPathNames& of = names(family);
    return {"conntrack",
            "-D",
            "-p",
            "udp",
            "--orig-dst",
            to_string(of.service.address),
            "--orig-port-dst",
            std::to_string(of.service.port),
            "--reply-src",
            to_string(of.endpoints.at(endpoint))};
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
