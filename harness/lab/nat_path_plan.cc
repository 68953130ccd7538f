#include "harness/lab/kube_proxy.h"
#include "harness/lab/link_changes.h"
#include "harness/lab/plan.h"

namespace pathproof::lab {
namespace {

// An address of the IPv6 network that stands for an IPv4 one.
frame::IpAddress v6(std::uint16_t network, std::uint16_t host) {
    frame::IpAddress address{.family = frame::Family::kIpv6};
    // 2001:db8:network::host
    address.bytes = {0x20,
                     0x01,
                     0x0d,
                     0xb8,
                     static_cast<std::uint8_t>(network >> 8),
                     static_cast<std::uint8_t>(network)};
    return address.plus(host);
}

bool is_v6(const NatPathNames& names) {
    return names.client_address.family == frame::Family::kIpv6;
}

// An address of a host's device. Without duplicate address detection one of IPv6 can be used at once.
std::string address_on(const std::string& device, const frame::IpAddress& address) {
    const bool ipv6 = address.family == frame::Family::kIpv6;
    return fmt::format("address add {}/{} dev {}{}\n", to_string(address), ipv6 ? 64 : 24, device,
                       ipv6 ? " nodad" : "");
}

std::string up(const std::string& device) {
    return fmt::format("link set {} up\n", device);
}

std::string route(const std::string& to, const frame::IpAddress& by, const std::string& device) {
    return fmt::format("route replace {} via {} dev {}\n", to, to_string(by), device);
}

// Addresses and routes of the three hosts, of one family.
struct Commands {
    std::string client, dut, server;
};

Commands commands_of(const NatPathNames& names) {
    const std::string anywhere = is_v6(names) ? "::/0" : "default";
    return {
        .client = address_on(names.client_device, names.client_address) +
                  route(anywhere, names.dut_client_address, names.client_device),
        .dut =
            address_on(names.dut_client_device, names.dut_client_address) +
            address_on(names.dut_server_device, names.dut_server_address) +
            // Packets that no rule translates are forwarded all the same.
            route(to_string(names.service.address), names.server_address, names.dut_server_device),
        .server = address_on(names.server_device, names.server_address) +
                  address_on(names.server_device, names.endpoints[1]) +
                  route(anywhere, names.dut_server_address, names.server_device),
    };
}

constexpr std::uint16_t kClientSide6 = 0x18, kServerSide6 = 0x113, kServices6 = 0x100;
}  // namespace

NatPathNames nat_path_names(const std::string& run_id, frame::Family family) {
    NatPathNames names;
    names.client = "pp-" + run_id + "-client";
    names.dut = "pp-" + run_id + "-dut";
    names.server = "pp-" + run_id + "-server";
    names.neighbour = "pp-" + run_id + "-neighbour";
    names.neighbour_address = frame::IpAddress::v4(0xc6120003);
    names.dut_client_address = frame::IpAddress::v4(0xc6120001);  // 198.18.0.1
    names.client_address = frame::IpAddress::v4(0xc6120002);
    names.dut_server_address = frame::IpAddress::v4(0xcb007101);  // 203.0.113.1
    names.server_address = frame::IpAddress::v4(0xcb007102);
    names.service = {frame::IpAddress::v4(0xc633640a), 53};  // 198.51.100.10:53
    names.web_service = {names.service.address, 80};
    names.endpoints = backend_addresses(2);
    names.node_cache = frame::IpAddress::v4(0xa9fe140a);    // 169.254.20.10
    names.client_inner = frame::IpAddress::v4(0xc6130001);  // 198.19.0.1
    names.server_inner = frame::IpAddress::v4(0xc6130002);
    if (family == frame::Family::kIpv6) {
        names.dut_client_address = v6(kClientSide6, 1);  // 2001:db8:18::1
        names.client_address = v6(kClientSide6, 2);
        names.dut_server_address = v6(kServerSide6, 1);  // 2001:db8:113::1
        names.server_address = v6(kServerSide6, 2);
        names.service.address = names.web_service.address = v6(kServices6, 10);
        names.endpoints = {v6(kServerSide6, 2), v6(kServerSide6, 3)};
    }
    return names;
}

Topology nat_path_topology(const NatPathNames& names) {
    const Commands commands = commands_of(names);
    return {.hosts = {{names.client,
                       {HostRole::kClient, HostRole::kTunnelEnds},
                       up(names.client_device) + commands.client},
                      {names.dut,
                       {HostRole::kDut},
                       up(names.dut_client_device) + up(names.dut_server_device) + commands.dut},
                      {names.server,
                       {HostRole::kServer, HostRole::kTunnelEnds},
                       up(names.server_device) + commands.server}},
            .links = {{{names.client, names.client_device}, {names.dut, names.dut_client_device}},
                      {{names.server, names.server_device}, {names.dut, names.dut_server_device}}},
            .settings = {setting::sysctl(HostRole::kDut, "net.ipv4.ip_forward", "1")}};
}

Settings nat_path_ipv6(const NatPathNames& names6) {
    const Commands commands = commands_of(names6);
    const auto part = [](HostRole host, const std::string& text, const std::string& device) {
        return setting::Setting{.id = "ipv6-addresses",
                                .host = host,
                                .changes = as_changes(text, device),
                                .command = ""};
    };
    return {part(HostRole::kClient, commands.client, names6.client_device),
            part(HostRole::kDut, commands.dut, names6.dut_server_device),
            part(HostRole::kServer, commands.server, names6.server_device)};
}

Topology nat_path_neighbour(const NatPathNames& names) {
    const std::string gateway = to_string(names.dut_client_address);
    Topology topology{
        .hosts = {{names.neighbour,
                   {HostRole::kNeighbour},
                   up(names.neighbour_device) +
                       address_on(names.neighbour_device, names.neighbour_address) +
                       route("default", names.dut_client_address, names.neighbour_device)}},
        .links = {
            {{names.neighbour, names.neighbour_device}, {names.dut, names.dut_neighbour_device}}}};
    topology.settings.push_back(setting::links(
        HostRole::kDut, "client-bridge", names.dut_client_device,
        {{fmt::format("link add name {0} type bridge forward_delay 0 mcast_snooping 0\n"
                      "address flush dev {1}\n"
                      "link set {1} master {0}\n"
                      "link set {2} master {0} up\n"
                      "address add {3}/24 dev {0}\n"
                      "link set {0} up",
                      names.bridge, names.dut_client_device, names.dut_neighbour_device, gateway),
          fmt::format("link delete dev {0}\naddress replace {1}/24 dev {2}", names.bridge, gateway,
                      names.dut_client_device)}}));
    return topology;
}

Link nat_path_shortcut(const NatPathNames& names) {
    return {{names.client, names.client_shortcut}, {names.server, names.server_shortcut}};
}

}  // namespace pathproof::lab
