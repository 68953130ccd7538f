#include "harness/lab/cabled_nat_box.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "harness/hazards/ruleset.h"
#include "harness/lab/link_changes.h"
#include "harness/lab/path_settings.h"
#include "harness/lab/plan.h"

namespace pathproof::lab {
namespace {

using agent::HostChange;
using frame::IpAddress;

struct NatRoles {
    std::vector<Cable> clients;
    std::optional<Cable> servers;
};

NatRoles nat_roles(const LabFile& file) {
    NatRoles roles;
    for (const DutDevice& device : file.dut.devices) {
        const auto port = std::ranges::find(file.ports, device.port, &TesterPort::name);
        const Cable cable{&*port, &device};
        if (port->clients) {
            roles.clients.push_back(cable);
        } else if (!port->servers.empty() && !roles.servers) {
            roles.servers = cable;
        }
    }
    return roles;
}

std::optional<IpAddress> ipv4_of(const std::vector<Prefix>& prefixes) {
    const auto found = std::ranges::find_if(prefixes, [](const Prefix& prefix) {
        return prefix.address.family == frame::Family::kIpv4;
    });
    return found == prefixes.end() ? std::nullopt : std::optional(found->address);
}

hazards::AddressRange network_of(const Prefix& prefix) {
    return *hazards::prefix_range(prefix.address, prefix.length);
}

// The first client of a network, clear of the addresses that routers and hosts have.
IpAddress first_client(const Prefix& network) {
    constexpr std::uint32_t kFirst = 257;
    return network_of(network).first.plus(kFirst);
}

}  // namespace

std::string missing_for_nat(const LabFile& file) {
    const NatRoles roles = nat_roles(file);
    if (roles.clients.size() < 2) {
        return fmt::format("it takes two cabled tester ports with 'clients', and the file has {}",
                           roles.clients.size());
    }
    if (!roles.servers) {
        return "it takes a cabled tester port with 'servers', and the file has none";
    }
    for (const Cable& cable : {roles.clients[0], roles.clients[1], *roles.servers}) {
        if (!ipv4_of(cable.device->addresses)) {
            return fmt::format("the DUT device {} has no IPv4 'address' in the file",
                               cable.device->name);
        }
    }
    for (const IpAddress& server : roles.servers->port->servers) {
        if (std::ranges::none_of(roles.servers->device->addresses, [&](const Prefix& prefix) {
                return network_of(prefix).contains(server);
            })) {
            return fmt::format("the server {} is in no network of the DUT device {}",
                               to_string(server), roles.servers->device->name);
        }
    }
    return "";
}

CabledNatBox::CabledNatBox(const LabFile& file, DutAgent& dut, Tables tables) : file_(file) {
    hosts_.add({HostRole::kDut}, dut, tables);
    const NatRoles roles = nat_roles(file);
    names_ = nat_box_names("");
    names_.tester = file.tester_netns;
    names_.dut = file.dut.where;
    names_.vxlan = "pathproof-vx";
    names_.service = file.service.value_or(names_.service);
    for (std::size_t i = 0; i < 2; ++i) {
        cables_.push_back(roles.clients[i]);
        names_.client_ports[i] = cables_[i].port->device;
        names_.dut_client_devices[i] = cables_[i].device->name;
        names_.first_client[i] = first_client(*cables_[i].port->clients);
    }
    cables_.push_back(*roles.servers);
    names_.server_port = cables_[2].port->device;
    names_.dut_server_device = cables_[2].device->name;
    names_.servers = cables_[2].port->servers;
    names_.carrier_tester = *ipv4_of(cables_[0].port->addresses);
    names_.carrier_dut = *ipv4_of(cables_[0].device->addresses);
    hosts_.call(place_names(names_));
}

Status CabledNatBox::meet_device(const Cable& cable, const agent::DeviceInfo& info,
                                 std::vector<HostChange>& changes) const {
    const std::string& device = cable.device->name;
    if (!info.link_up) {
        return fail(ErrorCode::kBadInput,
                    "{}: {} has no link; 'ip link set {} up' on both ends of its cable brings it "
                    "up",
                    to_string(file_.dut), device, device);
    }
    for (const Prefix& prefix : cable.device->addresses) {
        changes.push_back(address_change(device, to_string(prefix)));
    }
    for (const char* name : {"rp_filter", "send_redirects"}) {
        changes.push_back(sysctl_change(fmt::format("net.ipv4.conf.{}.{}", device, name), "0"));
    }
    auto off = TRY(off_for_virtual(hosts_.agent(HostRole::kDut), device, {"tx-checksum-"}));
    std::ranges::move(off, std::back_inserter(changes));
    return {};
}

// A vxlan device for clients that come in VXLAN through the first port.
void CabledNatBox::carry(std::vector<HostChange>& changes) const {
    const std::string& underlay = cables_[0].device->name;
    const std::string& device = names_.vxlan;
    changes.push_back(ip_change(
        underlay,
        fmt::format("link add name {} address {} mtu {} type vxlan id {} dstport {} local {} "
                    "remote {} dev {} nolearning udpcsum",
                    device, to_string(names_.carried_dut_mac), kOverlayMtu, names_.vni,
                    names_.vxlan_port, to_string(names_.carrier_dut),
                    to_string(names_.carrier_tester), underlay),
        "link delete " + device));
    changes.push_back(ip_change(device, fmt::format("link set {} up", device),
                                fmt::format("link set dev {} down", device)));
    changes.push_back(address_change(device, kCarriedDut + std::string("/32")));
    const IpAddress router = *frame::parse_ip(kCarriedRouter);
    changes.push_back(neighbour_change(device, router, names_.carried_tester_mac));
    changes.push_back(route_change(device, kCarriedClients, router, "onlink"));
    changes.push_back(sysctl_change(fmt::format("net.ipv4.conf.{}.rp_filter", device), "0"));
}

Status CabledNatBox::meet(const std::vector<frame::MacAddress>& tester_ports) {
    agent::Client& dut = hosts_.agent(HostRole::kDut);
    std::vector<HostChange> changes{sysctl_change("net.ipv4.conf.all.rp_filter", "0"),
                                    sysctl_change("net.ipv4.conf.all.send_redirects", "0"),
                                    sysctl_change("net.ipv4.ip_forward", "1")};
    for (std::size_t i = 0; i < cables_.size(); ++i) {
        const auto info = TRY(dut.device(cables_[i].device->name));
        TRY(meet_device(cables_[i], info, changes));
        (i < 2 ? names_.dut_client_mac[i] : names_.dut_server_mac) = info.mac;
        (i < 2 ? names_.tester_client_mac[i] : names_.tester_server_mac) = tester_ports.at(i);
    }
    for (std::size_t i = 0; i < 2; ++i) {
        const std::string& device = names_.dut_client_devices[i];
        const IpAddress router = *ipv4_of(cables_[i].port->addresses);
        changes.push_back(neighbour_change(device, router, names_.tester_client_mac[i]));
        const Prefix& clients = *cables_[i].port->clients;
        changes.push_back(route_change(device,
                                       to_string(Prefix{network_of(clients).first, clients.length}),
                                       router, "onlink"));
    }
    for (const IpAddress& server : names_.servers) {
        changes.push_back(
            neighbour_change(names_.dut_server_device, server, names_.tester_server_mac));
    }
    carry(changes);
    TRY(hosts_.keep(
        {{.id = "nat-box", .host = HostRole::kDut, .changes = std::move(changes), .command = ""}}));
    return begin();
}

}  // namespace pathproof::lab
