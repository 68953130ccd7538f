#include "harness/lab/pod_roles.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "harness/agent/device_info.h"
#include "harness/lab/front_rules.h"
#include "harness/lab/plan.h"
#include "harness/lab/topology.h"
#include "harness/netfilter/dump.h"
#include "harness/process/json_text.h"
#include "harness/process/program.h"

namespace pathproof::lab {
namespace {

using frame::Family;
using Snat = NatBoxOptions::Snat;

constexpr const char* kServers = "203.0.113.0/24";
constexpr const char* kServers6 = "2001:db8:113::/64";

Result<Pod> attached(PodNodes& nodes, unsigned node, const std::string& name,
                     const std::string& interface = "eth0") {
    Pod pod = TRY(nodes.make_pod(node, name));
    pod.attachment.interface = interface;
    TRY(nodes.attach(pod));
    return pod;
}

Result<frame::IpAddress> address_of(const Pod& pod, const PodChain& chain) {
    const auto address = pod.address(Family::kIpv4);
    return address ? Result<frame::IpAddress>(*address)
                   : fail(ErrorCode::kNotSupported, "{} gives pods no IPv4 address", chain.name);
}

// The device of a node by which it reaches a pod: a bridge, or the pod's own veth.
Result<std::string> way_to(const std::string& netns, const frame::IpAddress& address) {
    const auto route = process::parse_foreign(TRY(
        process::run_checked({"ip", "-j", "route", "get", to_string(address)}, {.netns = netns})));
    if (!route.is_array() || route.empty() || !route[0].contains("dev")) {
        return fail(ErrorCode::kFailed, "{} has no route to {}", netns, to_string(address));
    }
    return route[0]["dev"].get<std::string>();
}

const char* name(Snat snat) {
    return snat == Snat::kNone         ? "none"
           : snat == Snat::kMasquerade ? "MASQUERADE"
                                       : "MASQUERADE --random-fully";
}

RoleFacts facts_of(const PodChain& chain) {
    return {{"network", chain.name}, {"plug-ins", chain.plugins}, {"conflist", chain.sources[0]}};
}

class PodOverlay final : public Overlay {
  public:
    explicit PodOverlay(std::unique_ptr<PodNodes> nodes)
        : nodes_(std::move(nodes)),
          front_{FrontRules(nodes_->names().nodes[0]), FrontRules(nodes_->names().nodes[1])} {}

    Status build();
    RoleFacts facts() const override;
    Status configure(const OverlayOptions& options) override;

  private:
    std::unique_ptr<PodNodes> nodes_;
    std::array<FrontRules, 2> front_;
};

Status PodOverlay::build() {
    const PodNodeNames& names = nodes_->names();
    const cni::OverlaySetup setup = cni::overlay_setup(nodes_->chain().overlay, 1);
    names_ = {.tester = names.tester,
              .node_a = names.nodes[0],
              .node_b = names.nodes[1],
              .tester_port_a = names.port_a,
              .tester_port_b = names.port_b,
              .underlay = names.device,
              .vxlan = setup.device,
              .node_a_address = names.node_address(0, Family::kIpv4),
              .node_b_address = names.node_address(1, Family::kIpv4),
              .vni = setup.vni,
              .vxlan_port = setup.port};
    // As at node A (pod_nodes.cc): else the fabric would make the segments, and their checksums.
    TRY(take_off_super_frames(names.nodes[1], names.device));
    const Pod a = TRY(attached(*nodes_, 0, "a1"));
    const Pod b = TRY(attached(*nodes_, 1, "b1"));
    names_.pod_a = a.netns;
    names_.pod_b = b.netns;
    names_.pod_a_address = TRY(address_of(a, nodes_->chain()));
    names_.pod_b_address = TRY(address_of(b, nodes_->chain()));
    return configure({});
}

RoleFacts PodOverlay::facts() const {
    RoleFacts facts = facts_of(nodes_->chain());
    facts.emplace_back("tunnel", fmt::format("{}, VNI {}, UDP port {}", names_.vxlan, names_.vni,
                                             names_.vxlan_port));
    facts.emplace_back("outer SNAT",
                       fmt::format("a rule that this lab adds: -o {} -p udp --dport {} -j "
                                   "MASQUERADE --random-fully; the network's own rules leave the "
                                   "tunnel's packets alone",
                                   names_.underlay, names_.vxlan_port));
    return facts;
}

Status PodOverlay::configure(const OverlayOptions& options) {
    for (unsigned node = 0; node < front_.size(); ++node) {
        const std::string& netns = nodes_->names().nodes[node];
        const cni::OverlaySetup setup =
            cni::overlay_setup(nodes_->chain().overlay, node + 1, options.udp_checksum);
        TRY(run_ip(netns, fmt::format("link delete {}\n{}", setup.device, setup.tunnel)));
        TRY(process::run_checked(setup.forwarding, {.netns = netns}));
        TRY(front_[node].load(
            "*nat\n:POSTROUTING ACCEPT [0:0]\n" +
                (options.masquerade ? fmt::format("-A POSTROUTING -o {} -p udp -m udp --dport {} "
                                                  "-j MASQUERADE --random-fully\n",
                                                  names_.underlay, names_.vxlan_port)
                                    : std::string()) +
                "COMMIT\n",
            Family::kIpv4));
        TRY(netfilter::flush(netns));
    }
    return {};
}

class PodNatBox final : public NamespaceNatBox {
  public:
    PodNatBox(Journal& journal, std::unique_ptr<PodNodes> nodes)
        : NamespaceNatBox(journal), nodes_(std::move(nodes)), front_(nodes_->names().nodes[0]) {}

    Status build();
    RoleFacts facts() const override;
    Status meet(const std::vector<frame::MacAddress>& tester_ports) override;

  private:
    Status load(const std::string& nat_table, const Sysctls& sysctls) override {
        TRY(front_.load(nat_table, Family::kIpv4));
        return set_sysctls(names_.dut, sysctls);
    }

    std::unique_ptr<PodNodes> nodes_;
    FrontRules front_;
    std::array<std::string, 2> ways_;  // of the node to the two pods
};

Status PodNatBox::build() {
    const PodNodeNames& names = nodes_->names();
    names_ = nat_box_names("");
    names_.tester = names.tester;
    names_.dut = names.nodes[0];
    names_.server_port = names.port_a;
    names_.dut_server_device = names.device;
    names_.vxlan = "";
    // What two lcores send at once as one socket comes by way of two pods' devices.
    TRY(set_sysctls(names_.dut, {{"net.ipv4.conf.all.rp_filter", "0"},
                                 {"net.ipv4.conf.default.rp_filter", "0"},
                                 {"net.ipv4.conf.all.send_redirects", "0"},
                                 {"net.ipv4.conf.default.send_redirects", "0"}}));
    for (unsigned i = 0; i < 2; ++i) {
        const std::string& port = names_.client_ports[i];
        const Pod pod = TRY(attached(*nodes_, 0, fmt::format("a{}", i + 1), port));
        names_.first_client[i] = TRY(address_of(pod, nodes_->chain()));
        names_.dut_client_devices[i] = pod.node_device();
        ways_[i] = TRY(way_to(names_.dut, names_.first_client[i]));
        // The pod's kernel must neither ask nor answer.
        TRY(run_ip(pod.netns, fmt::format("link set {} netns {}\n", port, names.tester)));
        TRY(run_ip(names.tester, fmt::format("link set {} arp off up\n", port)));
    }
    names_.own_snat = TRY(nodes_->snat_of(0, names_.first_client[0], names_.servers.front()));
    TRY(run_ip(names_.dut,
               fmt::format("route add {} dev {}\n", kServers, names_.dut_server_device)));
    return {};
}

RoleFacts PodNatBox::facts() const {
    RoleFacts facts = facts_of(nodes_->chain());
    facts.emplace_back(
        "clients",
        fmt::format("the devices of two pods, {} and {}, in the tester's hands",
                    to_string(names_.first_client[0]), to_string(names_.first_client[1])));
    facts.emplace_back("servers", fmt::format("on the nodes' wire, {}", kServers));
    facts.emplace_back("the network's own SNAT of what leaves the cluster", name(names_.own_snat));
    facts.emplace_back("SNAT of cells",
                       "the network's own where it is as asked for, else a rule of this lab in "
                       "front of it");
    return facts;
}

Status PodNatBox::meet(const std::vector<frame::MacAddress>& tester_ports) {
    const auto dut = TRY(agent());
    std::string commands;
    const auto neighbour = [&](const frame::IpAddress& who, const frame::MacAddress& mac,
                               const std::string& device) {
        commands += fmt::format("neigh replace {} lladdr {} nud permanent dev {}\n", to_string(who),
                                to_string(mac), device);
    };
    for (std::size_t i = 0; i < 2; ++i) {
        names_.tester_client_mac[i] = tester_ports.at(i);
        names_.dut_client_mac[i] = TRY(dut->device(ways_[i])).mac;
        neighbour(names_.first_client[i], tester_ports[i], ways_[i]);
    }
    names_.tester_server_mac = tester_ports.at(2);
    names_.dut_server_mac = TRY(dut->device(names_.dut_server_device)).mac;
    for (const frame::IpAddress& server : names_.servers) {
        neighbour(server, names_.tester_server_mac, names_.dut_server_device);
    }
    TRY(run_ip(names_.dut, commands));
    TRY(configure({}));
    return make_watchable(names_.dut);
}

class PodPath final : public NatPath {
  public:
    PodPath(Journal& journal, std::unique_ptr<PodNodes> nodes)
        : NatPath(journal), nodes_(std::move(nodes)) {}
    // The agents put their hosts back before these go.
    ~PodPath() override { hosts_.end(); }

    Status build();
    RoleFacts facts() const override;
    Status add_neighbour() override;
    Status add_ipv6() override;
    Result<std::string> counted_rules(Family family) const override {
        return without_front(TRY(NatPath::counted_rules(family)));
    }

  private:
    Status add_server(const NatPathNames& names, const char* network, const char* options);

    std::unique_ptr<PodNodes> nodes_;
    Pod client_;
};

// The server's addresses on the host outside, and the ways there and back.
Status PodPath::add_server(const NatPathNames& names, const char* network, const char* options) {
    const unsigned length = names.client_address.family == Family::kIpv4 ? 24 : 64;
    std::string at_server;
    for (const frame::IpAddress& address : names.endpoints) {
        at_server += fmt::format("address add {}/{} dev {}{}\n", to_string(address), length,
                                 names.server_device, options);
    }
    at_server += fmt::format("route add {} via {}\n", host_prefix(names.client_address),
                             to_string(names.dut_server_address));
    TRY(run_ip(names.server, at_server));
    return run_ip(names.dut, fmt::format("route add {} dev {}\nroute add {} via {}\n", network,
                                         names.dut_server_device, to_string(names.service.address),
                                         to_string(names.server_address)));
}

Status PodPath::build() {
    const PodNodeNames& names = nodes_->names();
    client_ = TRY(attached(*nodes_, 0, "a1"));
    const std::string way = TRY(way_to(names.nodes[0], TRY(address_of(client_, nodes_->chain()))));
    for (NatPathNames* each : {&names_, &names6_}) {
        const Family family = each == &names_ ? Family::kIpv4 : Family::kIpv6;
        each->client = client_.netns;
        each->dut = names.nodes[0];
        each->server = names.outside;
        each->client_device = client_.attachment.interface;
        each->dut_client_device = way;
        each->dut_client_port = client_.node_device();
        each->dut_server_device = each->server_device = names.device;
        each->client_address = client_.address(family).value_or(each->client_address);
        each->dut_client_address = client_.gateway(family).value_or(each->dut_client_address);
        each->dut_server_address = names.node_address(0, family);
        each->own_snat = TRY(nodes_->snat_of(0, each->client_address, each->server_address));
    }
    // The nodes' wire, without the tester.
    TRY(run_ip(names.tester, wire_commands(names.port_a, names.port_b)));
    TRY(add_server(names_, kServers, ""));
    return begin(Tables::kOthers);
}

RoleFacts PodPath::facts() const {
    RoleFacts facts = facts_of(nodes_->chain());
    facts.emplace_back(
        "client", fmt::format("a pod, {}, by way of {} of node A", to_string(names_.client_address),
                              names_.dut_client_device));
    facts.emplace_back("server", "the host outside of the cluster");
    facts.emplace_back("the network's own SNAT of what leaves the cluster", name(names_.own_snat));
    facts.emplace_back("rules of cells",
                       "in front of the network's own; SNAT is the network's where it is as asked "
                       "for");
    return facts;
}

Status PodPath::add_neighbour() {
    if (names_.dut_client_device == client_.node_device()) {
        return fail(ErrorCode::kKernelLacks,
                    "the network {} has no bridge: each pod has a device of its node to itself",
                    nodes_->chain().name);
    }
    const Pod neighbour = TRY(attached(*nodes_, 0, "a2"));
    for (NatPathNames* each : {&names_, &names6_}) {
        each->neighbour = neighbour.netns;
        each->neighbour_device = neighbour.attachment.interface;
        each->dut_neighbour_device = neighbour.node_device();
        each->bridge = names_.dut_client_device;
    }
    names_.neighbour_address = TRY(address_of(neighbour, nodes_->chain()));
    return begin_bridge();
}

Status PodPath::add_ipv6() {
    if (!client_.address(Family::kIpv6)) {
        return fail(ErrorCode::kKernelLacks, "the network {} gives pods no IPv6 address",
                    nodes_->chain().name);
    }
    TRY(add_server(names6_, kServers6, " nodad"));
    return begin_ipv6();
}

}  // namespace

std::string lacks_role(const PodChain& chain, Role role) {
    switch (role) {
        case Role::kOverlay:
            return chain.has_tunnel() ? ""
                   : chain.passes_nodes()
                       ? fmt::format("{} has no tunnel: the nodes have routes to each other's pods",
                                     chain.name)
                       : fmt::format("{} has no tunnel: its pods are on the nodes' own network",
                                     chain.name);
        case Role::kNatBox:
        case Role::kNatPath:
            return chain.passes_nodes() ? ""
                                        : fmt::format(
                                              "{} has its pods on the nodes' own network: no node "
                                              "translates for them",
                                              chain.name);
        case Role::kDevice:
        case Role::kPods: return "";
    }
    return "";
}

Result<std::unique_ptr<Overlay>> pod_overlay(Journal& journal, const PodChain& chain) {
    auto overlay = std::make_unique<PodOverlay>(TRY(PodNodes::build(journal, chain)));
    TRY(overlay->build());
    return overlay;
}

Result<std::unique_ptr<NatBox>> pod_nat_box(Journal& journal, const PodChain& chain) {
    auto box = std::make_unique<PodNatBox>(journal, TRY(PodNodes::build(journal, chain)));
    TRY(box->build());
    return box;
}

Result<std::unique_ptr<NatPath>> pod_nat_path(Journal& journal, const PodChain& chain) {
    auto path = std::make_unique<PodPath>(journal, TRY(PodNodes::build(journal, chain)));
    TRY(path->build());
    return path;
}

Result<MadeDut> pod_device(Journal& journal, const PodChain& chain) {
    auto nodes = TRY(PodNodes::build(journal, chain));
    const PodNodeNames& names = nodes->names();
    auto pod = attached(*nodes, 0, "a1");
    if (!pod) {
        return fail(pod.error().code == ErrorCode::kKernelLacks ? ErrorCode::kNotSupported
                                                                : pod.error().code,
                    "{}", pod.error().message);
    }
    CabledDevice device{.netns = pod->netns,
                        .name = pod->attachment.interface,
                        .tester_netns = names.tester,
                        .tester_port = "v0"};
    RoleFacts facts = facts_of(chain);
    const std::string far = pod->node_device();
    if (far.empty()) {
        return fail(ErrorCode::kNotSupported,
                    "{} gives pods no veth: macvlan and ipvlan pass on what is for their own "
                    "address alone, and the frames of this scenario have one address both ways",
                    chain.name);
    }
    // Off its bridge and without an address: it must neither ask nor answer.
    TRY(run_ip(names.nodes[0], fmt::format("link set {} down\nlink set {} name {} netns {}\n", far,
                                           far, device.tester_port, names.tester)));
    TRY(run_ip(names.tester, fmt::format("link set {} arp off up\n", device.tester_port)));
    facts.emplace_back("the tester", "at the far end of the pod's veth, in the node's place");
    // Without stray frames of the kernel's own.
    const std::string ipv6 = fmt::format("net.ipv6.conf.{}.", device.name);
    TRY(set_sysctls(pod->netns, {{ipv6 + "accept_ra", "0"}, {ipv6 + "addr_gen_mode", "1"}}));
    auto agent = TRY(agent::Client::start_in_netns(pod->netns));
    return MadeDut{.parts = std::move(nodes),
                   .agent = std::move(agent),
                   .device = std::move(device),
                   .facts = std::move(facts)};
}

}  // namespace pathproof::lab
