#include "harness/lab/pod_roles.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "harness/agent/device_info.h"
#include "harness/lab/front_rules.h"
#include "harness/lab/link_changes.h"
#include "harness/lab/namespaces.h"
#include "harness/lab/path_settings.h"
#include "harness/lab/plan.h"
#include "harness/process/json_text.h"
#include "harness/process/program.h"

namespace pathproof::lab {
namespace {

using frame::Family;

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

// A network that is on the nodes' own wire.
setting::Setting way_to_servers(const char* network, const std::string& device) {
    return setting::links(HostRole::kDut, fmt::format("way to {}", network), device,
                          {{fmt::format("route add {} dev {}", network, device),
                            fmt::format("route delete {} dev {}", network, device)}});
}

RoleFacts facts_of(const PodChain& chain) {
    return {{"network", chain.name}, {"plug-ins", chain.plugins}, {"conflist", chain.sources[0]}};
}

class PodOverlay final : public Overlay {
  public:
    explicit PodOverlay(std::unique_ptr<PodNodes> nodes) : nodes_(std::move(nodes)) {}
    ~PodOverlay() override { hosts_.end(); }

    Status build();
    RoleFacts facts() const override;
    Settings tunnel(bool udp_checksum) const override;
    Status set_anew(const Settings& settings) override;

  private:
    std::unique_ptr<PodNodes> nodes_;
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
    const Pod a = TRY(attached(*nodes_, 0, "a1"));
    const Pod b = TRY(attached(*nodes_, 1, "b1"));
    names_.pod_a = a.netns;
    names_.pod_b = b.netns;
    names_.pod_a_address = TRY(address_of(a, nodes_->chain()));
    names_.pod_b_address = TRY(address_of(b, nodes_->chain()));
    hosts_.call(place_names(names_));
    for (unsigned node = 0; node < kNodeRoles.size(); ++node) {
        const auto agent = nodes_->shared_agent(node);
        // The tunnel that the network came with.
        TRY(agent->output_of({"ip", "link", "delete", setup.device}));
        hosts_.add({kNodeRoles.at(node), HostRole::kDut, HostRole::kTunnelEnds}, agent,
                   Tables::kOthers);
    }
    TRY(hosts_.add({HostRole::kPodA, HostRole::kClient}, names_.pod_a));
    TRY(hosts_.add({HostRole::kPodB, HostRole::kClient}, names_.pod_b));
    // As at node A (pod_nodes.cc): else the fabric would make the segments, and their checksums.
    TRY(hosts_.keep(no_super_frames(HostRole::kNodeB, names.device)));
    return set_anew(usual());
}

RoleFacts PodOverlay::facts() const {
    RoleFacts facts = facts_of(nodes_->chain());
    facts.emplace_back("tunnel", fmt::format("{}, VNI {}, UDP port {}", names_.vxlan, names_.vni,
                                             names_.vxlan_port));
    facts.emplace_back(
        "outer SNAT",
        fmt::format("a rule that this lab adds: -o {} -p udp --dport {} {}; the "
                    "network's own rules leave the tunnel's packets alone",
                    names_.underlay, names_.vxlan_port, target_of(Snat::kMasqueradeRandomFully)));
    return facts;
}

Settings PodOverlay::tunnel(bool udp_checksum) const {
    Settings settings;
    for (unsigned node = 0; node < kNodeRoles.size(); ++node) {
        const cni::OverlaySetup setup =
            cni::overlay_setup(nodes_->chain().overlay, node + 1, udp_checksum);
        settings.push_back(setting::links(kNodeRoles.at(node), "tunnel", names_.underlay,
                                          {{setup.tunnel, "link delete dev " + setup.device}}));
    }
    return settings;
}

Status PodOverlay::set_anew(const Settings& settings) {
    TRY(Overlay::set_anew(settings));
    for (unsigned node = 0; node < kNodeRoles.size(); ++node) {
        const cni::OverlaySetup setup = cni::overlay_setup(nodes_->chain().overlay, node + 1);
        TRY(nodes_->shared_agent(node)->output_of(setup.forwarding));
    }
    return {};
}

class PodNatBox final : public NatBox {
  public:
    explicit PodNatBox(std::unique_ptr<PodNodes> nodes) : nodes_(std::move(nodes)) {}
    ~PodNatBox() override { hosts_.end(); }

    Status build();
    RoleFacts facts() const override;
    Status meet(const std::vector<frame::MacAddress>& tester_ports) override;

  private:
    std::unique_ptr<PodNodes> nodes_;
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
    hosts_.call(place_names(names_));
    hosts_.add({HostRole::kDut}, nodes_->shared_agent(0), Tables::kOthers);
    // Packets that two lcores send at once from one socket arrive through the devices of two pods.
    for (const char* name :
         {"all.rp_filter", "default.rp_filter", "all.send_redirects", "default.send_redirects"}) {
        TRY(hosts_.keep(
            {setting::sysctl(HostRole::kDut, fmt::format("net.ipv4.conf.{}", name), "0")}));
    }
    for (unsigned i = 0; i < 2; ++i) {
        const std::string& port = names_.client_ports[i];
        const Pod pod = TRY(attached(*nodes_, 0, fmt::format("a{}", i + 1), port));
        names_.first_client[i] = TRY(address_of(pod, nodes_->chain()));
        names_.dut_client_devices[i] = pod.node_device();
        ways_[i] = TRY(way_to(names_.dut, names_.first_client[i]));
        TRY(give_to_tester(pod.netns, port, names.tester));
    }
    names_.own_snat = TRY(nodes_->snat_of(0, names_.first_client[0], names_.servers.front()));
    return hosts_.keep({way_to_servers(kServers, names_.dut_server_device)});
}

RoleFacts PodNatBox::facts() const {
    RoleFacts facts = facts_of(nodes_->chain());
    facts.emplace_back(
        "clients",
        fmt::format("the devices of two pods, {} and {}, in the tester's hands",
                    to_string(names_.first_client[0]), to_string(names_.first_client[1])));
    facts.emplace_back("servers", fmt::format("on the nodes' wire, {}", kServers));
    facts.emplace_back("the network's own SNAT of what leaves the cluster",
                       to_string(names_.own_snat));
    facts.emplace_back("SNAT of cells",
                       "the network's own where it is as asked for, else a rule of this lab in "
                       "front of it");
    return facts;
}

Status PodNatBox::meet(const std::vector<frame::MacAddress>& tester_ports) {
    agent::Client& dut = hosts_.agent(HostRole::kDut);
    std::string commands;
    const auto neighbour = [&](const frame::IpAddress& who, const frame::MacAddress& mac,
                               const std::string& device) {
        commands += fmt::format("neigh replace {} lladdr {} nud permanent dev {}\n", to_string(who),
                                to_string(mac), device);
    };
    for (std::size_t i = 0; i < 2; ++i) {
        names_.tester_client_mac[i] = tester_ports.at(i);
        names_.dut_client_mac[i] = TRY(dut.device(ways_[i])).mac;
        neighbour(names_.first_client[i], tester_ports[i], ways_[i]);
    }
    names_.tester_server_mac = tester_ports.at(2);
    names_.dut_server_mac = TRY(dut.device(names_.dut_server_device)).mac;
    for (const frame::IpAddress& server : names_.servers) {
        neighbour(server, names_.tester_server_mac, names_.dut_server_device);
    }
    TRY(dut.output_of({"ip", "-batch", "-"}, commands));
    return begin();
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
    Status keep_server(const NatPathNames& names, const char* network);

    std::unique_ptr<PodNodes> nodes_;
    Pod client_;
};

// The server's addresses on the host outside, and the ways there and back.
Status PodPath::keep_server(const NatPathNames& names, const char* network) {
    const unsigned length = names.client_address.family == Family::kIpv4 ? 24 : 64;
    setting::Setting at_server{.id = fmt::format("server of {}", network),
                               .host = HostRole::kServer,
                               .changes = {},
                               .command = ""};
    const std::string& device = names.server_device;
    for (const frame::IpAddress& address : names.endpoints) {
        at_server.changes.push_back(
            address_change(device, fmt::format("{}/{}", to_string(address), length)));
    }
    at_server.changes.push_back(
        route_change(device, host_prefix(names.client_address), names.dut_server_address));
    setting::Setting to_server = way_to_servers(network, names.dut_server_device);
    to_server.changes.push_back(route_change(
        names.dut_server_device, to_string(names.service.address), names.server_address));
    return hosts_.keep({std::move(at_server), std::move(to_server)});
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
    TRY(make_switch(names.tester, {names.port_a, names.port_b}));
    TRY(hosts_.add({HostRole::kClient, HostRole::kTunnelEnds}, names_.client));
    hosts_.add({HostRole::kDut}, nodes_->shared_agent(0), Tables::kOthers);
    hosts_.add({HostRole::kServer, HostRole::kTunnelEnds}, nodes_->outside_agent());
    TRY(keep_server(names_, kServers));
    return begin_settings();
}

RoleFacts PodPath::facts() const {
    RoleFacts facts = facts_of(nodes_->chain());
    facts.emplace_back(
        "client", fmt::format("a pod, {}, by way of {} of node A", to_string(names_.client_address),
                              names_.dut_client_device));
    facts.emplace_back("server", "the host outside of the cluster");
    facts.emplace_back("the network's own SNAT of what leaves the cluster",
                       to_string(names_.own_snat));
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
    TRY(hosts_.add({HostRole::kNeighbour}, names_.neighbour));
    return keep_bridge();
}

Status PodPath::add_ipv6() {
    if (!client_.address(Family::kIpv6)) {
        return fail(ErrorCode::kKernelLacks, "the network {} gives pods no IPv6 address",
                    nodes_->chain().name);
    }
    TRY(keep_server(names6_, kServers6));
    return begin_ipv6();
}

}  // namespace

std::string lacks_role(const PodChain& chain, Role role) {
    switch (role) {
        case Role::kOverlay:
            if (chain.has_tunnel()) {
                return "";
            }
            return fmt::format("{} has no tunnel: {}", chain.name,
                               chain.passes_nodes() ? "the nodes have routes to each other's pods"
                                                    : "its pods are on the nodes' own network");
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
    auto box = std::make_unique<PodNatBox>(TRY(PodNodes::build(journal, chain)));
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
    // Off its bridge and without an address.
    TRY(nodes->shared_agent(0)->output_of(
        {"ip", "-batch", "-"},
        fmt::format("link set {0} down\nlink set {0} name {1}\n", far, device.tester_port)));
    TRY(give_to_tester(names.nodes[0], device.tester_port, names.tester));
    facts.emplace_back("the tester", "at the far end of the pod's veth, in the node's place");
    // Without stray frames of the kernel's own.
    auto agent = TRY(agent::Client::start_in_netns(pod->netns));
    const std::string ipv6 = fmt::format("net.ipv6.conf.{}.", device.name);
    TRY(agent->apply(
        {sysctl_change(ipv6 + "accept_ra", "0"), sysctl_change(ipv6 + "addr_gen_mode", "1")}));
    return MadeDut{.parts = std::move(nodes),
                   .agent = std::move(agent),
                   .device = std::move(device),
                   .facts = std::move(facts)};
}

}  // namespace pathproof::lab
