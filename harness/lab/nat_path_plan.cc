#include "harness/lab/kube_proxy.h"
#include "harness/lab/plan.h"

namespace pathproof::lab {
namespace {

std::string kernel_host(const std::string& device, const frame::IpAddress& address) {
    return fmt::format("link set lo up\naddress add {0}/24 dev {1}\nlink set {1} up\n",
                       to_string(address), device);
}

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

std::string veth(const std::string& one, const std::string& netns, const std::string& other,
                 const std::string& far) {
    return fmt::format("link add name {} netns {} type veth peer name {} netns {}\n", one, netns,
                       other, far);
}

bool is_v6(const NatPathNames& names) {
    return names.client_address.family == frame::Family::kIpv6;
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

std::vector<std::string> namespaces_of(const NatPathNames& names) {
    return {names.client, names.dut, names.server};
}

std::string nat_path_links(const NatPathNames& names) {
    return veth(names.client_device, names.client, names.dut_client_device, names.dut) +
           veth(names.server_device, names.server, names.dut_server_device, names.dut);
}

std::vector<Script> nat_path_scripts(const NatPathNames& names) {
    const bool ipv6 = is_v6(names);
    // Without duplicate address detection an address of IPv6 can be used at once.
    const auto add = [&](const std::string& device, const frame::IpAddress& address) {
        return fmt::format("address add {}/{} dev {}{}\n", to_string(address), ipv6 ? 64 : 24,
                           device, ipv6 ? " nodad" : "");
    };
    const auto host = [&](const std::string& device, const frame::IpAddress& address) {
        return ipv6 ? add(device, address) : kernel_host(device, address);
    };
    const auto route = [](const std::string& to, const frame::IpAddress& by) {
        return fmt::format("route add {} via {}\n", to, to_string(by));
    };
    const std::string anywhere = ipv6 ? "::/0" : "default";
    return {{names.dut, host(names.dut_client_device, names.dut_client_address) +
                            host(names.dut_server_device, names.dut_server_address) +
                            // What no rule translates is forwarded all the same.
                            route(to_string(names.service.address), names.server_address)},
            {names.client, host(names.client_device, names.client_address) +
                               route(anywhere, names.dut_client_address)},
            {names.server, host(names.server_device, names.server_address) +
                               add(names.server_device, names.endpoints[1]) +
                               route(anywhere, names.dut_server_address)}};
}

std::vector<Script> nat_path_neighbour_scripts(const NatPathNames& names) {
    return {
        {"", veth(names.neighbour_device, names.neighbour, names.dut_neighbour_device, names.dut)},
        {names.dut, fmt::format("link add name {0} type bridge forward_delay 0 mcast_snooping "
                                "0\n"
                                "address flush dev {1}\n"
                                "link set {1} master {0}\n"
                                "link set {2} master {0} up\n"
                                "address add {3}/24 dev {0}\n"
                                "link set {0} up\n",
                                names.bridge, names.dut_client_device, names.dut_neighbour_device,
                                to_string(names.dut_client_address))},
        {names.neighbour,
         kernel_host(names.neighbour_device, names.neighbour_address) +
             fmt::format("route add default via {}\n", to_string(names.dut_client_address))}};
}

std::vector<Script> nat_path_shortcut_scripts(const NatPathNames& names) {
    return {{"", veth(names.client_shortcut, names.client, names.server_shortcut, names.server)},
            {names.client, fmt::format("link set {} up\n", names.client_shortcut)},
            {names.server, fmt::format("link set {} up\n", names.server_shortcut)}};
}

}  // namespace pathproof::lab
