#include "harness/lab/cabled_nat_path.h"

#include <algorithm>
#include <array>
#include <optional>

#include "harness/lab/front_rules.h"
#include "harness/lab/kube_proxy.h"
#include "harness/lab/link_changes.h"
#include "harness/lab/namespaces.h"
#include "harness/lab/plan.h"

namespace pathproof::lab {
namespace {

using agent::HostChange;
using frame::Family;

struct Side {
    const TesterPort* port = nullptr;
    const DutDevice* device = nullptr;
};

// The cables of the client and of the server: those whose ports play clients and servers elsewhere, or else in the
// order of the file.
std::optional<std::array<Side, 2>> sides_of(const LabFile& file) {
    const std::vector<DutDevice>& devices = file.dut.devices;
    const auto port_of = [&](const DutDevice& device) {
        return &*std::ranges::find(file.ports, device.port, &TesterPort::name);
    };
    const auto plays_clients = [&](const DutDevice& device) {
        return port_of(device)->clients.has_value();
    };
    const auto plays_servers = [&](const DutDevice& device) {
        return !port_of(device)->servers.empty();
    };
    if (devices.size() < 2) {
        return std::nullopt;
    }
    auto server = std::ranges::find_if(devices, plays_servers);
    auto client = std::ranges::find_if(devices, plays_clients);
    if (client == devices.end()) {
        client = server == devices.begin() ? devices.begin() + 1 : devices.begin();
    }
    if (server == devices.end()) {
        server = client == devices.begin() ? devices.begin() + 1 : devices.begin();
    }
    return std::array<Side, 2>{Side{port_of(*client), &*client}, Side{port_of(*server), &*server}};
}

constexpr const char* kPodDevice = "pp-pod0";

// Features by which a device hands on frames that are longer than its MTU.
const std::vector<std::string> kLongFrames{"segmentation"};

std::string with_length(const frame::IpAddress& address) {
    return fmt::format("{}/{}", to_string(address), address.family == Family::kIpv4 ? 24 : 64);
}

class CabledNatPath final : public NatPath {
  public:
    CabledNatPath(Journal& journal, const LabFile& file, const DutAgents& agents, ClientAt client,
                  RoleFacts facts)
        : NatPath(journal),
          file_(file),
          agents_(agents),
          client_(client),
          sides_(*sides_of(file)),
          facts_(std::move(facts)),
          run_(journal.run_id()),
          plan_(nat_path_topology(names_)) {}
    ~CabledNatPath() override { hosts_.end(); }

    Status build();
    RoleFacts facts() const override;
    std::vector<HostCable> cables() const override;
    Status cut_long_frames() override;
    Status add_neighbour() override;
    Status add_ipv6() override;
    Result<std::string> counted_rules(Family family) const override {
        auto rules = TRY(NatPath::counted_rules(family));
        return agents_.tables == Tables::kOthers ? without_front(rules) : std::move(rules);
    }

  private:
    std::string to_host(const char* host) const { return fmt::format("pp-{}-{}", run_, host); }
    Status keep_dut(const char* id, std::vector<HostChange> changes) {
        return hosts_.keep(
            {{.id = id, .host = HostRole::kDut, .changes = std::move(changes), .command = ""}});
    }
    Status keep_server_side(const NatPathNames& names, const char* id);
    Status build_client();
    Status build_pod();
    Status make_pod(const std::string& netns, const std::string& inside, const std::string& device);
    Status keep_host(HostRole role, const char* id, const std::string& device,
                     const frame::IpAddress& address);
    // A namespace of the tester's machine, which is there: its link with the tester, its agent, its part of the plan.
    Status join_host(HostRole role, const char* host);
    // The hosts behind tester ports.
    std::vector<std::pair<const char*, Side>> joined() const {
        std::vector<std::pair<const char*, Side>> hosts{{"server", sides_[1]}};
        if (!is_on_node()) {
            hosts.insert(hosts.begin(), {"client", sides_[0]});
        }
        return hosts;
    }
    bool is_on_node() const { return client_ == ClientAt::kNode; }

    const LabFile& file_;
    const DutAgents agents_;
    const ClientAt client_;
    const std::array<Side, 2> sides_;  // the client's and the server's
    const RoleFacts facts_;
    const std::string run_;
    const Topology plan_;
};

Status CabledNatPath::build() {
    for (NatPathNames* names : {&names_, &names6_}) {
        names->dut = agents_.netns;
        names->dut_client_device = is_on_node() ? kPodDevice : sides_[0].device->name;
        names->dut_server_device = sides_[1].device->name;
        names->bridge = "pp-br0";
        names->dut_neighbour_device = "pp-pod1";
    }
    hosts_.add({HostRole::kDut}, *agents_.dut, agents_.tables);
    TRY(is_on_node() ? build_pod() : build_client());
    TRY(namespaces_->add({names_.server}));
    TRY(join_host(HostRole::kServer, "server"));
    TRY(keep_server_side(names_, "dut-server-side"));
    TRY(keep_dut("dut-forwards", {sysctl_change("net.ipv4.ip_forward", "1")}));
    return begin_settings();
}

Status CabledNatPath::build_client() {
    TRY(namespaces_->add({names_.client}));
    TRY(join_host(HostRole::kClient, "client"));
    return keep_dut("dut-client-side", {address_change(names_.dut_client_device,
                                                       with_length(names_.dut_client_address))});
}

// Not with the settings: where one cannot be had all of them are taken back and set anew, and the other end of a veth
// pair, with the addresses that another host has on it, would go.
Status CabledNatPath::make_pod(const std::string& netns, const std::string& inside,
                               const std::string& device) {
    TRY(agents_.host->agent()->apply(
        {{.kind = HostChange::Kind::kNetns, .name = netns, .value = "there"}}));
    return agents_.dut->agent()->apply(
        {ip_change(
             names_.dut_server_device,
             fmt::format("link add name {} type veth peer name {} netns {}", device, inside, netns),
             fmt::format("link delete dev {}", device)),
         ip_change(device, fmt::format("link set dev {} up", device),
                   fmt::format("link set dev {} down", device))});
}

Status CabledNatPath::build_pod() {
    TRY(make_pod(names_.client, names_.client_device, kPodDevice));
    TRY(keep_dut("dut-client-side",
                 {address_change(kPodDevice, with_length(names_.dut_client_address))}));
    hosts_.add({HostRole::kClient}, TRY(agents_.host->agent()->start_beside(names_.client)));
    return keep_host(HostRole::kClient, "pod-links", names_.client_device, names_.client_address);
}

// An address, and by way of the DUT to all others.
Status CabledNatPath::keep_host(HostRole role, const char* id, const std::string& device,
                                const frame::IpAddress& address) {
    return hosts_.keep({{.id = id,
                         .host = role,
                         .changes = {address_change(device, with_length(address)),
                                     ip_change(device, fmt::format("link set dev {} up", device),
                                               fmt::format("link set dev {} down", device)),
                                     route_change(device, "default", names_.dut_client_address)},
                         .command = ""}});
}

Status CabledNatPath::join_host(HostRole role, const char* host) {
    const TopologyHost& part = plan_.host(role);
    const std::string& device =
        role == HostRole::kClient ? names_.client_device : names_.server_device;
    TRY(make_links({{{file_.tester_netns, to_host(host)}, {part.netns, device}}}));
    TRY(bring_up_unheard(file_.tester_netns, to_host(host)));
    TRY(realise_host(part, hosts_));
    return hosts_.keep(no_super_frames(role, device));
}

// Not with the settings: the journal sets features back together, for some need others.
Status CabledNatPath::cut_long_frames() {
    agent::Client& dut = hosts_.agent(HostRole::kDut);
    for (const auto& [host, side] : joined()) {
        TRY(dut.apply(TRY(off_for_virtual(dut, side.device->name, kLongFrames))));
    }
    return {};
}

// The route to the service forwards all that no rule translates.
Status CabledNatPath::keep_server_side(const NatPathNames& names, const char* id) {
    const std::string& device = names.dut_server_device;
    return keep_dut(id,
                    {address_change(device, with_length(names.dut_server_address)),
                     route_change(device, to_string(names.service.address), names.server_address)});
}

RoleFacts CabledNatPath::facts() const {
    RoleFacts facts = facts_;
    if (is_on_node()) {
        facts.emplace_back("client",
                           "a network namespace on the DUT's host, as a pod is on its node");
    }
    for (const auto& [host, side] : joined()) {
        facts.emplace_back(host,
                           fmt::format("a network namespace of the tester's machine, behind the "
                                       "tester's port {} ({}); {} of the DUT is at the other end "
                                       "of its cable",
                                       side.port->name, side.port->device, side.device->name));
    }
    return facts;
}

std::vector<HostCable> CabledNatPath::cables() const {
    std::vector<HostCable> cables;
    for (const auto& [host, side] : joined()) {
        cables.push_back({.host = host,
                          .tester_netns = file_.tester_netns,
                          .port = side.port->device,
                          .is_kernel_device = side.port->kind == TesterPort::Kind::kKernel,
                          .plan = {side.port->addresses, side.port->queues},
                          .to_host = to_host(host)});
    }
    return cables;
}

Status CabledNatPath::add_neighbour() {
    const std::string& port = names_.dut_client_device;
    const std::string& bridge = names_.bridge;
    const std::string& own = names_.dut_neighbour_device;
    TRY(make_pod(names_.neighbour, names_.neighbour_device, own));
    TRY(keep_dut(
        "dut-client-side",
        {ip_change(
             port,
             fmt::format("link add name {} type bridge forward_delay 0 mcast_snooping 0", bridge),
             "link delete dev " + bridge),
         // The bridge is named as their device: once it is gone, so is this.
         ip_change(bridge, fmt::format("link set dev {} master {}", port, bridge),
                   fmt::format("link set dev {} nomaster", port)),
         ip_change(bridge, fmt::format("link set dev {} master {}", own, bridge),
                   fmt::format("link set dev {} nomaster", own)),
         address_change(bridge, with_length(names_.dut_client_address)),
         ip_change(bridge, fmt::format("link set dev {} up", bridge),
                   fmt::format("link set dev {} down", bridge))}));
    auto neighbour = agents_.host->agent()->start_beside(names_.neighbour);
    if (!neighbour && neighbour.error().code == ErrorCode::kNotSupported) {
        return fail(ErrorCode::kKernelLacks,
                    "it takes a neighbour of the client on the DUT itself: {}",
                    neighbour.error().message);
    }
    hosts_.add({HostRole::kNeighbour}, TRY(std::move(neighbour)));
    TRY(keep_host(HostRole::kNeighbour, "neighbour-links", names_.neighbour_device,
                  names_.neighbour_address));
    return keep_bridge();
}

Status CabledNatPath::add_ipv6() {
    if (is_on_node()) {
        return fail(ErrorCode::kNotSupported, "the client on the node has IPv4 alone");
    }
    const auto is_off = hosts_.agent(HostRole::kDut).read_sysctl("net.ipv6.conf.all.disable_ipv6");
    if (!is_off) {
        return fail(ErrorCode::kKernelLacks, "IPv6 is not there ({})", is_off.error().message);
    }
    TRY(keep_ipv6(HostRole::kClient, {names_.client_device}));
    TRY(keep_ipv6(HostRole::kServer, {names_.server_device}));
    Settings addresses = nat_path_ipv6(names6_);
    // The DUT has its own by cable, below.
    std::erase_if(addresses,
                  [](const setting::Setting& part) { return part.host == HostRole::kDut; });
    TRY(hosts_.keep(addresses));
    std::vector<HostChange> on{sysctl_change("net.ipv6.conf.all.forwarding", "1")};
    for (const std::string& device : {names_.dut_client_device, names_.dut_server_device}) {
        on.push_back(sysctl_change(fmt::format("net.ipv6.conf.{}.disable_ipv6", device), "0"));
        // A router asks for its neighbours from a link-local address.
        on.push_back(sysctl_change(fmt::format("net.ipv6.conf.{}.addr_gen_mode", device), "0"));
    }
    TRY(keep_dut("dut-ipv6", std::move(on)));
    TRY(keep_dut("dut-client-side6", {address_change(names_.dut_client_device,
                                                     with_length(names6_.dut_client_address))}));
    TRY(keep_server_side(names6_, "dut-server-side6"));
    return begin_ipv6();
}

}  // namespace

std::string missing_for_nat_path(const LabFile& file) {
    return sides_of(file) ? ""
                          : fmt::format(
                                "it takes two cables of the DUT, one to the client and one to "
                                "the server, and the file has {}",
                                file.dut.devices.size());
}

Result<std::unique_ptr<NatPath>> cabled_nat_path(Journal& journal, const LabFile& file,
                                                 const DutAgents& agents, ClientAt client,
                                                 RoleFacts facts) {
    auto path = std::make_unique<CabledNatPath>(journal, file, agents, client, std::move(facts));
    TRY(doing(path->build(), "build the NAT path"));
    return path;
}

}  // namespace pathproof::lab
