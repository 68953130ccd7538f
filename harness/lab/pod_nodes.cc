#include "harness/lab/pod_nodes.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "dataplane/base/pattern.h"
#include "harness/hazards/facts.h"
#include "harness/hazards/walk.h"
#include "harness/lab/link_changes.h"
#include "harness/lab/namespaces.h"
#include "harness/lab/path_settings.h"
#include "harness/process/foreign.h"
#include "harness/process/json_text.h"
#include "harness/process/program.h"

namespace pathproof::lab {
namespace {

using frame::Family;

const char* save_program(Family family) {
    return family == Family::kIpv4 ? "iptables-save" : "ip6tables-save";
}

std::vector<Link> links_of(const PodNodeNames& names) {
    std::vector<Link> links;
    const auto add = [&](const LinkEnd& one, const LinkEnd& other) {
        const std::size_t number = links.size() + 1;
        links.push_back({one, other});
        links.back().one.mac = fmt::format("02:70:70:02:00:{:02x}", number);
        links.back().other.mac = fmt::format("02:70:70:02:01:{:02x}", number);
    };
    add({names.tester, names.port_a}, {names.nodes[0], names.device});
    add({names.tester, names.port_b}, {names.fabric, "p0"});
    add({names.fabric, "p1"}, {names.nodes[1], names.device});
    add({names.fabric, "p2"}, {names.outside, names.device});
    return links;
}

std::string host_commands(const std::string& device, const frame::IpAddress& v4,
                          const frame::IpAddress& v6) {
    return fmt::format("link set {0} up\naddress add {1}/24 dev {0}\naddress add {2}/64 dev {0}\n",
                       device, to_string(v4), to_string(v6));
}

// The nodes and the host outside of the cluster.
std::vector<TopologyHost> hosts_of(const PodNodeNames& names) {
    const auto commands = [&](const auto& address) {
        return host_commands(names.device, address(Family::kIpv4), address(Family::kIpv6));
    };
    std::vector<TopologyHost> hosts;
    for (unsigned node = 0; node < names.nodes.size(); ++node) {
        hosts.push_back({names.nodes[node], {kNodeRoles.at(node)}, commands([&](Family family) {
                             return names.node_address(node, family);
                         })});
    }
    hosts.push_back({names.outside, {HostRole::kServer}, commands([&](Family family) {
                         return names.outside_address(family);
                     })});
    return hosts;
}

// Names that the plug-ins draw are not what differs, nor is what the kernel says of a route a moment
// after its device lost its last port.
std::string without_drawn_names(const std::string& text) {
    static const Pattern drawn("veth[0-9a-f]{8}");
    static const Pattern numbered("@if[0-9]+| linkdown| dead");
    return numbered.replace(drawn.replace(text, "veth*"), "");
}

const char* hairpin_text(const nlohmann::json& port) {
    if (!port.contains("hairpin")) {
        return "";
    }
    return port["hairpin"] == true ? " hairpin on" : " hairpin off";
}

// Each line that is kept, sorted: the kernel's order tells nothing.
std::vector<std::string> sorted_lines(const std::string& text) {
    std::vector<std::string> lines;
    for (std::string line : process::lines_of(text)) {
        line.erase(line.find_last_not_of(" \t") + 1);
        if (!line.empty()) {
            lines.push_back(without_drawn_names(line));
        }
    }
    std::ranges::sort(lines);
    return lines;
}

}  // namespace

std::optional<frame::IpAddress> Pod::address(Family family) const {
    for (const cni::PodAddress& ip : added.addresses) {
        if (ip.address.family == family) {
            return ip.address;
        }
    }
    return std::nullopt;
}

std::optional<frame::IpAddress> Pod::gateway(Family family) const {
    for (const cni::PodAddress& ip : added.addresses) {
        if (ip.address.family == family && ip.gateway) {
            return ip.gateway;
        }
    }
    return std::nullopt;
}

std::string Pod::node_device() const {
    for (const cni::Interface& one : added.interfaces) {
        if (one.sandbox.empty() && one.name.starts_with("veth")) {
            return one.name;
        }
    }
    return "";
}

frame::IpAddress PodNodeNames::node_address(unsigned node, Family family) const {
    const auto first = family == Family::kIpv4 ? frame::IpAddress::v4(0xc6120000)
                                               : *frame::parse_ip("2001:db8:18::");
    return first.plus(node + 1);
}

frame::IpAddress PodNodeNames::outside_address(Family family) const {
    return node_address(99, family);
}

Result<cni::Conflist> conflist_of(const PodChain& chain, unsigned node,
                                  const std::string& data_dir) {
    return cni::parse_conflist(chain.texts.at(node), chain.sources.at(node), node + 1, data_dir);
}

PodNodes::PodNodes(Journal& journal, PodChain chain)
    : chain_(std::move(chain)), namespaces_(std::make_unique<Namespaces>(journal)) {
    const std::string prefix = fmt::format("pp-{}-", journal.run_id());
    names_.tester = prefix + "tester";
    names_.fabric = prefix + "fabric";
    names_.outside = prefix + "outside";
    names_.nodes = {prefix + "node-a", prefix + "node-b"};
}

PodNodes::~PodNodes() {
    hosts_.end();
    namespaces_.reset();
    std::error_code gone;  // else the journal deletes it
    for (unsigned node = 0; node < names_.nodes.size() && !folder_.empty(); ++node) {
        std::filesystem::remove_all(fmt::format("{}/{}", folder_, node + 1), gone);
        std::filesystem::remove_all(fmt::format("{}/results-{}", folder_, node + 1), gone);
    }
}

Result<std::unique_ptr<PodNodes>> PodNodes::build(Journal& journal, const PodChain& chain) {
    std::unique_ptr<PodNodes> nodes(new PodNodes(journal, chain));
    nodes->folder_ = TRY(journal.make_folder("cni"));
    for (unsigned node = 0; node < nodes->names_.nodes.size(); ++node) {
        auto conflist =
            TRY(conflist_of(chain, node, fmt::format("{}/{}", nodes->folder_, node + 1)));
        const std::string cache = fmt::format("{}/results-{}", nodes->folder_, node + 1);
        std::error_code failed;
        if (std::filesystem::create_directory(cache, failed); failed) {
            return fail(ErrorCode::kFailed, "cannot make {}: {}", cache, failed.message());
        }
        nodes->runtimes_.emplace_back(
            cni::Runtime::Options{
                .plugins = chain.plugins, .netns = nodes->names_.nodes[node], .cache = cache},
            std::move(conflist));
    }
    TRY(doing(nodes->build_nodes(), "build the nodes of the lab cni"));
    return nodes;
}

Status PodNodes::build_nodes() {
    TRY(namespaces_->add({names_.tester, names_.fabric}));
    TRY(namespaces_->add({names_.nodes[0], names_.nodes[1], names_.outside},
                         Namespaces::Ipv6::kOn));
    TRY(make_links(links_of(names_)));
    TRY(run_ip_in(names_.tester, fmt::format("link set {} arp off up\nlink set {} arp off up",
                                             names_.port_a, names_.port_b)));
    TRY(make_switch(names_.fabric, {"p0", "p1", "p2"}));
    TRY(hand_over_frames(names_.fabric, "p0"));
    for (const TopologyHost& host : hosts_of(names_)) {
        TRY(realise_host(host, hosts_));
    }
    // A tester in the place of a NIC takes frames, not super-frames (link_changes.h).
    TRY(hosts_.keep(no_super_frames(HostRole::kNodeA, names_.device)));
    for (const HostRole node : kNodeRoles) {
        TRY(hosts_.keep({setting::sysctl(node, "net.ipv4.ip_forward", "1"),
                         setting::sysctl(node, "net.ipv6.conf.all.forwarding", "1")}));
    }
    TRY(build_overlay());
    for (unsigned node = 0; node < names_.nodes.size(); ++node) {
        // Has conntrack at work before the first packet of a cell.
        for (const Family family : {Family::kIpv4, Family::kIpv6}) {
            TRY(add_rules(node,
                          "*filter\n:KUBE-FORWARD - [0:0]\n"
                          "-A FORWARD -m comment --comment \"kubernetes forwarding rules\" -j "
                          "KUBE-FORWARD\n"
                          "-A KUBE-FORWARD -m conntrack --ctstate INVALID -j DROP\n"
                          "-A KUBE-FORWARD -m mark --mark 0x4000/0x4000 -j ACCEPT\n"
                          "-A KUBE-FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT\n"
                          "COMMIT\n",
                          family));
        }
        TRY(hosts_.keep(TRY(watchable(agent(node), kNodeRoles.at(node)))));
    }
    return {};
}

agent::Client& PodNodes::agent(unsigned node) const {
    return hosts_.agent(kNodeRoles.at(node));
}

// Rules are added beside whatever is there, as plug-ins and kube-proxy add theirs.
Status PodNodes::add_rules(unsigned node, const std::string& rules, Family family) {
    const char* const program = family == Family::kIpv4 ? "iptables-restore" : "ip6tables-restore";
    const auto added = agent(node).output_of({program, "--noflush"}, rules);
    return added ? Status() : pass_on(added.error());
}

Status PodNodes::build_overlay() {
    if (!chain_.has_tunnel()) {
        return {};
    }
    for (unsigned node = 0; node < names_.nodes.size(); ++node) {
        const cni::OverlaySetup setup = cni::overlay_setup(chain_.overlay, node + 1);
        TRY(agent(node).output_of({"ip", "-batch", "-"}, setup.tunnel));
        TRY(agent(node).output_of(setup.forwarding));
        TRY(add_rules(node, setup.rules, Family::kIpv4));
        tunnel_port_ = setup.port;
    }
    return {};
}

Result<Pod> PodNodes::make_pod(unsigned node, const std::string& name) {
    Pod pod{.name = name,
            .node = node,
            .netns = names_.tester.substr(0, names_.tester.rfind('-') + 1) + "pod-" + name};
    pod.attachment = {.container_id = "pathproof-" + name,
                      .netns = pod.netns,
                      .args = fmt::format("IgnoreUnknown=1;K8S_POD_NAMESPACE=default;"
                                          "K8S_POD_NAME={}",
                                          name)};
    TRY(namespaces_->add({pod.netns}, Namespaces::Ipv6::kOn));
    TRY(run_ip_in(pod.netns, "link set lo up"));
    return pod;
}

Status PodNodes::attach(Pod& pod) {
    auto added = runtime(pod.node).add(pod.attachment);
    if (!added) {
        const bool lacks =
            added.error().message.find("operation not supported") != std::string::npos;
        return fail(lacks ? ErrorCode::kKernelLacks : added.error().code, "pod {}: {}", pod.name,
                    added.error().message);
    }
    pod.added = std::move(*added);
    if (chain_.overlay != cni::Overlay::kRoutes) {
        return {};
    }
    // As a cloud's route table, or kube-controller-manager's, leads to pods.
    for (const cni::PodAddress& ip : pod.added.addresses) {
        TRY(agent(1 - pod.node)
                .output_of({"ip", "route", "replace", host_prefix(ip.address), "via",
                            to_string(names_.node_address(pod.node, ip.address.family)), "dev",
                            names_.device}));
    }
    return {};
}

Status PodNodes::detach(const Pod& pod) {
    return runtime(pod.node).del(pod.attachment);
}

Result<Snat> PodNodes::snat_of(unsigned node, const frame::IpAddress& from,
                               const frame::IpAddress& to) const {
    const hazards::Facts facts = TRY(hazards::read_facts(names_.nodes.at(node)));
    const hazards::Walker walker(facts.rules);
    for (const hazards::Chain* base :
         walker.bases("postrouting", from.family == Family::kIpv4 ? "ip" : "ip6", "nat")) {
        for (const hazards::Ending& ending : walker.walk(*base, {.source = from,
                                                                .destination = to,
                                                                .protocol = "udp",
                                                                .out = names_.device,
                                                                .state = "new",
                                                                .to_local = false})) {
            if (ending.kind == hazards::Ending::Kind::kNat) {
                return ending.rule->random ? Snat::kMasqueradeRandomFully : Snat::kMasquerade;
            }
        }
    }
    return Snat::kNone;
}

Status PodNodes::serve(const std::vector<KubeService>& services, Family family) {
    // Its jump of POSTROUTING is in front of what was there: kube-proxy prepends it.
    std::string rules =
        "*nat\n:KUBE-SERVICES - [0:0]\n:KUBE-POSTROUTING - [0:0]\n"
        "-I PREROUTING 1 -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES\n"
        "-I OUTPUT 1 -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES\n"
        "-I POSTROUTING 1 -m comment --comment \"kubernetes postrouting rules\" -j "
        "KUBE-POSTROUTING\n" +
        kube_postrouting() + kube_marks();
    for (const KubeService& service : services) {
        rules += kube_service_rules(service);
    }
    for (unsigned node = 0; node < names_.nodes.size(); ++node) {
        TRY(add_rules(node, rules + "COMMIT\n", family));
    }
    return {};
}

Result<std::vector<std::string>> PodNodes::counted_rules(unsigned node, Family family) const {
    const std::string text = TRY(process::run_checked({save_program(family), "--counters"},
                                                      {.netns = names_.nodes.at(node)}));
    std::vector<std::string> rules;
    std::string table;
    for (const std::string& line : process::lines_of(text)) {
        if (line.starts_with("*")) {
            table = line.substr(1);
        } else if (line.starts_with("[")) {
            rules.push_back(table + " " + line);
        }
    }
    return rules;
}

Result<NodeState> PodNodes::state(unsigned node) const {
    const std::string& netns = names_.nodes.at(node);
    NodeState state;
    for (const auto& [family, prefix] :
         {std::pair{Family::kIpv4, "ip "}, {Family::kIpv6, "ip6 "}}) {
        const std::string text =
            TRY(process::run_checked({save_program(family)}, {.netns = netns}));
        std::string table;
        for (const std::string& line : process::lines_of(text)) {
            if (line.starts_with("*")) {
                table = prefix + line.substr(1) + ": ";
            } else if (line.starts_with("-A")) {
                state.rules.push_back(table + without_drawn_names(line));
            } else if (line.starts_with(":") && line.find(" - [") != std::string::npos) {
                state.rules.push_back(table + "chain " + line.substr(1, line.find(' ') - 1));
            }
        }
    }
    const auto links = process::parse_foreign(
        TRY(process::run_checked({"ip", "-j", "-d", "link"}, {.netns = netns})));
    for (const auto& link : links.is_array() ? links : nlohmann::json::array()) {
        const auto info = link.value("linkinfo", nlohmann::json::object());
        const auto port = info.value("info_slave_data", nlohmann::json::object());
        state.devices.push_back(without_drawn_names(fmt::format(
            "{}: {} mtu {}{}{}", link.value("ifname", std::string()),
            info.value("info_kind", std::string("device")), link.value("mtu", 0),
            link.contains("master") ? " master " + link.value("master", std::string()) : "",
            hairpin_text(port))));
    }
    std::ranges::sort(state.devices);
    for (const char* family : {"-4", "-6"}) {
        const std::string addresses =
            TRY(process::run_checked({"ip", family, "-o", "address"}, {.netns = netns}));
        for (const std::string& line : sorted_lines(addresses)) {
            std::istringstream words(line);
            std::string number, device, inet, address;
            words >> number >> device >> inet >> address;
            // Link-local ones follow the drawn MAC address.
            if (!address.starts_with("fe80:")) {
                state.addresses.push_back(device + " " + address);
            }
        }
        const std::string routes = TRY(process::run_checked(
            {"ip", family, "route", "show", "table", "all"}, {.netns = netns}));
        for (const std::string& line : sorted_lines(routes)) {
            if (line.find("fe80:") == std::string::npos &&
                line.find("ff00:") == std::string::npos) {
                state.routes.push_back(line);
            }
        }
    }
    std::error_code none;
    const std::string folder = fmt::format("{}/{}", folder_, node + 1);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, none)) {
        if (!entry.is_directory()) {
            state.leases.push_back(entry.path().string().substr(folder.size() + 1));
        }
    }
    std::ranges::sort(state.leases);
    return state;
}

}  // namespace pathproof::lab
