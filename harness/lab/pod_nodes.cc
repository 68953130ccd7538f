#include "harness/lab/pod_nodes.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "dataplane/base/pattern.h"
#include "harness/hazards/facts.h"
#include "harness/hazards/walk.h"
#include "harness/lab/topology.h"
#include "harness/process/foreign.h"
#include "harness/process/json_text.h"
#include "harness/process/program.h"

namespace pathproof::lab {
namespace {

using frame::Family;

const char* save_program(Family family) {
    return family == Family::kIpv4 ? "iptables-save" : "ip6tables-save";
}

std::string link_commands(const PodNodeNames& names) {
    const std::string pair =
        "link add name {} address 02:70:70:02:00:{:02x} netns {} type veth peer name {} address "
        "02:70:70:02:01:{:02x} netns {}\n";
    std::string commands;
    unsigned number = 0;
    const auto cable = [&](const std::string& one, const std::string& netns,
                           const std::string& other, const std::string& far) {
        ++number;
        commands += fmt::format(fmt::runtime(pair), one, number, netns, other, number, far);
    };
    cable(names.port_a, names.tester, names.device, names.nodes[0]);
    cable(names.port_b, names.tester, "p0", names.fabric);
    cable("p1", names.fabric, names.device, names.nodes[1]);
    cable("p2", names.fabric, names.device, names.outside);
    return commands;
}

std::string host_commands(const std::string& device, const frame::IpAddress& v4,
                          const frame::IpAddress& v6) {
    return fmt::format(
        "link set lo up\nlink set {0} up\naddress add {1}/24 dev {0}\naddress add {2}/64 dev {0}\n",
        device, to_string(v4), to_string(v6));
}

// Without duplicate address detection an address can be used at once.
Status allow_ipv6(const std::string& netns) {
    return set_sysctls(netns, {{"net.ipv6.conf.all.accept_dad", "0"},
                               {"net.ipv6.conf.default.accept_dad", "0"},
                               {"net.ipv6.conf.default.router_solicitations", "0"},
                               {"net.ipv6.conf.default.disable_ipv6", "0"},
                               {"net.ipv6.conf.all.disable_ipv6", "0"}});
}

// Names that the plug-ins draw are not what differs, nor is what the kernel says of a route a moment
// after its device lost its last port.
std::string without_drawn_names(const std::string& text) {
    static const Pattern drawn("veth[0-9a-f]{8}");
    static const Pattern numbered("@if[0-9]+| linkdown| dead");
    return numbered.replace(drawn.replace(text, "veth*"), "");
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
    TRY(namespaces_->add(
        {names_.tester, names_.fabric, names_.nodes[0], names_.nodes[1], names_.outside}));
    for (const std::string& netns : {names_.nodes[0], names_.nodes[1], names_.outside}) {
        TRY(allow_ipv6(netns));
    }
    TRY(run_ip("", link_commands(names_)));
    // A tester in the place of a NIC takes frames, not super-frames (overlay.cc).
    for (const auto& [netns, device] :
         {std::pair{names_.nodes[0], names_.device}, {names_.fabric, std::string("p0")}}) {
        TRY(take_off_super_frames(netns, device));
    }
    TRY(run_ip(names_.tester, fmt::format("link set {} arp off up\nlink set {} arp off up\n",
                                          names_.port_a, names_.port_b)));
    TRY(run_ip(names_.fabric,
               "link add name lan type bridge forward_delay 0 mcast_snooping 0\n"
               "link set p0 master lan up\nlink set p1 master lan up\nlink set p2 master lan up\n"
               "link set lan arp off up\n"));
    TRY(run_ip(names_.outside, host_commands(names_.device, names_.outside_address(Family::kIpv4),
                                             names_.outside_address(Family::kIpv6))));
    for (unsigned node = 0; node < names_.nodes.size(); ++node) {
        TRY(set_sysctls(names_.nodes[node],
                        {{"net.ipv4.ip_forward", "1"}, {"net.ipv6.conf.all.forwarding", "1"}}));
        TRY(run_ip(names_.nodes[node],
                   host_commands(names_.device, names_.node_address(node, Family::kIpv4),
                                 names_.node_address(node, Family::kIpv6))));
    }
    TRY(build_overlay());
    for (const std::string& node : names_.nodes) {
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
        TRY(make_watchable(node));
    }
    return {};
}

Status PodNodes::build_overlay() {
    if (!chain_.has_tunnel()) {
        return {};
    }
    for (unsigned node = 0; node < names_.nodes.size(); ++node) {
        const cni::OverlaySetup setup = cni::overlay_setup(chain_.overlay, node + 1);
        TRY(run_ip(names_.nodes[node], setup.tunnel));
        TRY(process::run_checked(setup.forwarding, {.netns = names_.nodes[node]}));
        TRY(add_rules(names_.nodes[node], setup.rules, Family::kIpv4));
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
    TRY(namespaces_->add({pod.netns}));
    TRY(allow_ipv6(pod.netns));
    TRY(run_ip(pod.netns, "link set lo up\n"));
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
        TRY(run_ip(names_.nodes.at(1 - pod.node),
                   fmt::format("route replace {} via {} dev {}\n", host_prefix(ip.address),
                               to_string(names_.node_address(pod.node, ip.address.family)),
                               names_.device)));
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
    for (const std::string& node : names_.nodes) {
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
            port.contains("hairpin") ? port["hairpin"] == true ? " hairpin on" : " hairpin off"
                                     : "")));
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
