#include "harness/lab/kube_proxy.h"
#include "harness/lab/plan.h"
#include "harness/setting/cures.h"

namespace pathproof::lab {
namespace {

using frame::IpAddress;
using frame::MacAddress;

// Behind each tester port stands one "router" whose permanent neighbour entry carries its MAC
// address: so the DUT reaches tens of thousands of clients without an entry, or an ARP question,
// for each.
constexpr std::uint32_t kDutClientSide = 0xc6120001;  // 198.18.0.1
constexpr std::uint32_t kRouter0 = 0xc6120002;  // 198.18.0.2, behind c0; also the tester's VTEP
constexpr std::uint32_t kRouter1 = 0xc6120003;  // 198.18.0.3, behind c1
constexpr std::uint32_t kDutServerSide = 0xcb007101;  // 203.0.113.1

std::string text(std::uint32_t address) {
    return to_string(IpAddress::v4(address));
}

MacAddress mac(std::uint8_t kind, std::uint8_t number) {
    return {{0x02, 0x70, 0x70, 0x02, kind, number}};
}

// A kernel neighbour and a route through it, for all clients of a network.
std::string clients_behind(const std::string& device, const std::string& router,
                           const MacAddress& mac_address, const std::string& network) {
    return fmt::format(
        "neigh replace {0} lladdr {1} nud permanent dev {2}\n"
        "route add {3} via {0} dev {2} onlink\n",
        router, to_string(mac_address), device, network);
}

std::string server_side(const NatBoxNames& names) {
    std::string commands =
        fmt::format("address add {}/24 dev {}\n", text(kDutServerSide), names.dut_server_device);
    for (const IpAddress& backend : backend_addresses(kMostBackends)) {
        commands +=
            fmt::format("neigh replace {} lladdr {} nud permanent dev {}\n", to_string(backend),
                        to_string(names.tester_server_mac), names.dut_server_device);
    }
    return commands;
}

std::string carrier(const NatBoxNames& names) {
    return fmt::format(
               "link add name {0} address {1} mtu {2} type vxlan id {3} dstport {4} local {5} "
               "remote {6} dev {7} nolearning udpcsum\n"
               "link set {0} up\n"
               "address add {8}/32 dev {0}\n",
               names.vxlan, to_string(names.carried_dut_mac), kOverlayMtu, names.vni,
               names.vxlan_port, to_string(names.carrier_dut), to_string(names.carrier_tester),
               names.dut_client_devices[0], kCarriedDut) +
           clients_behind(names.vxlan, kCarriedRouter, names.carried_tester_mac, kCarriedClients);
}

std::string dut_commands(const NatBoxNames& names) {
    std::string commands;
    for (const std::string& device :
         {names.dut_client_devices[0], names.dut_client_devices[1], names.dut_server_device}) {
        commands += fmt::format("link set {} up\n", device);
    }
    commands += fmt::format("address add {}/32 dev {}\n", text(kDutClientSide),
                            names.dut_client_devices[0]);
    commands += clients_behind(names.dut_client_devices[0], text(kRouter0),
                               names.tester_client_mac[0], "198.18.0.0/17");
    commands += clients_behind(names.dut_client_devices[1], text(kRouter1),
                               names.tester_client_mac[1], "198.18.128.0/17");
    return commands + server_side(names);
}

// A vxlan device for clients that come in VXLAN through the first port.
setting::Setting carrier_setting(const NatBoxNames& names) {
    return setting::links(HostRole::kDut, "carrier", names.dut_client_devices[0],
                          {{carrier(names), "link delete dev " + names.vxlan}});
}

Settings forwards(const NatBoxNames& names) {
    Settings settings{carrier_setting(names),
                      setting::sysctl(HostRole::kDut, "net.ipv4.ip_forward", "1")};
    const std::vector<std::string> devices{"all",
                                           "default",
                                           names.dut_client_devices[0],
                                           names.dut_client_devices[1],
                                           names.dut_server_device,
                                           names.vxlan};
    for (const std::string& device : devices) {
        settings.push_back(setting::sysctl(HostRole::kDut,
                                           fmt::format("net.ipv4.conf.{}.rp_filter", device), "0"));
        // Clients of one network sit behind two ports: that is no reason to redirect.
        settings.push_back(setting::sysctl(
            HostRole::kDut, fmt::format("net.ipv4.conf.{}.send_redirects", device), "0"));
    }
    // Whatever leaves the DUT reaches a DPDK port, which sees bytes and no partial-checksum mark: the
    // kernel must complete every checksum (the outer one of the carrier above all).
    for (const std::string& device :
         {names.dut_client_devices[0], names.dut_client_devices[1], names.dut_server_device}) {
        settings.push_back(setting::feature(HostRole::kDut, device, "tx", false));
    }
    return settings;
}

std::string snat_rule(const NatBoxNames& names, Snat snat) {
    return snat == names.own_snat
               ? ""
               : fmt::format("-A KUBE-POSTROUTING -o $TO_SERVER {}\n", target_of(snat));
}

}  // namespace

std::vector<IpAddress> backend_addresses(unsigned count) {
    std::vector<IpAddress> backends;
    for (unsigned i = 0; i < count; ++i) {
        backends.push_back(IpAddress::v4(kDutServerSide + 1 + i));
    }
    return backends;
}

NatBoxNames nat_box_names(const std::string& run_id) {
    NatBoxNames names;
    names.tester = "pp-" + run_id + "-tester";
    names.dut = "pp-" + run_id + "-dut";
    names.service = {IpAddress::v4(0xc633640a), 53};  // 198.51.100.10:53
    names.servers = backend_addresses(kMostBackends);
    names.first_client[0] = IpAddress::v4(0xc6120101);       // 198.18.1.1
    names.first_client[1] = IpAddress::v4(0xc6128101);       // 198.18.129.1
    names.first_carried_client = IpAddress::v4(0xc6130101);  // 198.19.1.1
    for (std::uint8_t i = 0; i < 2; ++i) {
        names.tester_client_mac[i] = mac(0, i);
        names.dut_client_mac[i] = mac(1, i);
    }
    names.tester_server_mac = mac(2, 0);
    names.dut_server_mac = mac(3, 0);
    names.carrier_tester = IpAddress::v4(kRouter0);
    names.carrier_dut = IpAddress::v4(kDutClientSide);
    names.carried_tester_mac = mac(4, 0);
    names.carried_dut_mac = mac(5, 0);
    return names;
}

setting::Names place_names(const NatBoxNames& names) {
    return {{"$TO_SERVER", names.dut_server_device}};
}

Topology nat_box_topology(const NatBoxNames& names) {
    Topology topology{.hosts = {}, .links = {}, .settings = forwards(names)};
    const auto link = [&](const std::string& port, const MacAddress& port_mac,
                          const std::string& device, const MacAddress& device_mac) {
        topology.links.push_back({{names.tester, port, to_string(port_mac)},
                                  {names.dut, device, to_string(device_mac)},
                                  kUnderlayMtu});
    };
    for (std::size_t i = 0; i < 2; ++i) {
        link(names.client_ports[i], names.tester_client_mac[i], names.dut_client_devices[i],
             names.dut_client_mac[i]);
    }
    link(names.server_port, names.tester_server_mac, names.dut_server_device, names.dut_server_mac);
    std::string tester;
    for (const std::string& port :
         {names.client_ports[0], names.client_ports[1], names.server_port}) {
        tester += fmt::format("link set {} arp off up\n", port);
    }
    topology.hosts = {{names.tester, {}, tester},
                      {names.dut, {HostRole::kDut}, dut_commands(names)}};
    return topology;
}

setting::Setting nat_box_service(const NatBoxNames& names, unsigned backends) {
    const auto dns = [&](const char* port, const char* protocol) {
        return kube_service_rules(
            {.name = "kube-dns",
             .port = port,
             .protocol = protocol,
             .address = names.service,
             .endpoints = {names.servers.begin(), names.servers.begin() + backends},
             .endpoint_port = names.service.port,
             .name_space = "kube-system",
             .pods = ""});
    };
    return setting::rules(HostRole::kDut, "service", "nat",
                          ":KUBE-SERVICES - [0:0]\n"
                          ":KUBE-POSTROUTING - [0:0]\n"
                          "-A PREROUTING -j KUBE-SERVICES\n"
                          "-A POSTROUTING -j KUBE-POSTROUTING\n" +
                              kube_marks() + dns("dns", "udp") + dns("dns-tcp", "tcp"));
}

setting::Setting nat_box_snat(const NatBoxNames& names, Snat snat) {
    return setting::rules(HostRole::kDut, "snat", "nat", snat_rule(names, snat));
}

}  // namespace pathproof::lab
