#include "harness/lab/kube_proxy.h"
#include "harness/lab/plan.h"

namespace pathproof::lab {
namespace {

using PathSnat = NatBoxOptions::Snat;
using PathService = NatPathOptions::Service;
using PathInvalid = NatPathOptions::Invalid;

std::string to_ports(const PortRange& ports) {
    return ports.last == 0 ? "" : fmt::format(" --to-ports {}-{}", ports.first, ports.last);
}

std::string kernel_host(const std::string& device, const frame::IpAddress& address) {
    return fmt::format("link set lo up\naddress add {0}/24 dev {1}\nlink set {1} up\n",
                       to_string(address), device);
}

std::string invalid_rules(const NatPathNames& names, const NatPathOptions& options) {
    std::string rules;
    for (const std::string& device : {names.dut_client_device, names.dut_server_device}) {
        rules += fmt::format("-A FORWARD -o {} -p tcp -m conntrack --ctstate INVALID -j {}\n",
                             device, options.invalid == PathInvalid::kDropped ? "DROP" : "ACCEPT");
    }
    return options.invalid == PathInvalid::kNoRule ? "" : rules;
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

KubeService web_service(const NatPathNames& names, const NatPathOptions& options) {
    return {.name = "web",
            .port = "http",
            .protocol = "tcp",
            .address = names.web_service,
            .endpoints = options.web_endpoints,
            .endpoint_port = kEndpointPort,
            .pods = to_string(names.dut_client_address) + (is_v6(names) ? "/64" : "/24")};
}

KubeService dns_service(const NatPathNames& names, const NatPathOptions& options) {
    return {.name = "kube-dns",
            .port = "dns",
            .protocol = "udp",
            .address = names.service,
            .endpoints = options.dns_endpoints,
            .endpoint_port = names.service.port,
            .name_space = "kube-system",
            .pods = ""};
}

constexpr std::uint32_t kFirstEndpoint = 0xcb007110;  // 203.0.113.16
constexpr std::uint16_t kClientSide6 = 0x18, kServerSide6 = 0x113, kServices6 = 0x100;
constexpr EndpointState kHeldStates[] = {EndpointState::kServes, EndpointState::kClosed,
                                         EndpointState::kSilent, EndpointState::kStranger};

}  // namespace

std::vector<frame::IpAddress> endpoints_that(EndpointState state, frame::Family family) {
    std::vector<frame::IpAddress> addresses;
    const frame::IpAddress first = family == frame::Family::kIpv4
                                       ? frame::IpAddress::v4(kFirstEndpoint)
                                       : v6(kServerSide6, 16);
    for (std::uint32_t i = 0; i < kEndpointsOfState; ++i) {
        addresses.push_back(first.plus(16 * static_cast<std::uint32_t>(state) + i));
    }
    return addresses;
}

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

std::vector<Script> tunnel_scripts(const NatPathNames& names, const TunnelOptions& options) {
    const auto vtep = [&](const frame::IpAddress& local, const frame::IpAddress& remote,
                          const frame::IpAddress& inner) {
        return fmt::format(
            "route flush cache\nlink add {0} mtu {1} type vxlan id 42 local {2} remote {3} dstport "
            "4789 df {4}\n"
            "address add {5}/24 dev {0}\nlink set {0} up\n",
            names.vxlan, options.mtu, to_string(local), to_string(remote),
            options.df ? "set" : "unset", to_string(inner));
    };
    const auto route = [&](const frame::IpAddress& to, const std::string& device) {
        return fmt::format("route replace {}/32 dev {} mtu {}\n", to_string(to), device,
                           options.hop_mtu);
    };
    return {{names.client, vtep(names.client_address, names.server_address, names.client_inner)},
            {names.server, vtep(names.server_address, names.client_address, names.server_inner)},
            {names.dut, route(names.client_address, names.dut_client_device) +
                            route(names.server_address, names.dut_server_device)}};
}

std::string tunnel_rules(const NatPathNames& names, const TunnelOptions& options) {
    return table_head("raw") + std::string(options.fragments ? "" : "-A PREROUTING -f -j DROP\n") +
           "COMMIT\n*mangle\n:POSTROUTING ACCEPT [0:0]\n" +
           (options.mss == 0
                ? ""
                : fmt::format("-A POSTROUTING -o {} -p tcp -m tcp --tcp-flags SYN,RST SYN "
                              "-j TCPMSS --set-mss {}\n",
                              names.vxlan, options.mss)) +
           "COMMIT\n";
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

Script nat_path_route_of_answers(const NatPathNames& names, const NatPathOptions& options) {
    return {names.server,
            "route replace " + to_string(names.client_address) + "/32 " +
                (options.answers_pass_by ? "dev " + names.server_shortcut
                                         : "via " + to_string(names.dut_server_address)) +
                "\n"};
}

std::vector<Script> nat_path_endpoint_scripts(const NatPathNames& names) {
    std::string held;
    for (const EndpointState state : kHeldStates) {
        for (const frame::IpAddress& address : endpoints_that(state, names.client_address.family)) {
            held += fmt::format("address add {} dev {}{}\n", host_prefix(address),
                                names.server_device, is_v6(names) ? " nodad" : "");
        }
    }
    return {{names.server, held}};
}

std::string nat_path_endpoint_filter(EndpointState state, frame::Family family) {
    std::string rules = "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD ACCEPT [0:0]\n";
    for (const frame::IpAddress& address : endpoints_that(state, family)) {
        rules += fmt::format(
            "-A {} -d {} -j {}\n", state == EndpointState::kSilent ? "INPUT" : "FORWARD",
            host_prefix(address),
            state == EndpointState::kSilent  ? "DROP"
            : family == frame::Family::kIpv4 ? "REJECT --reject-with icmp-host-unreachable"
                                             : "REJECT --reject-with icmp6-addr-unreachable");
    }
    return rules + "COMMIT\n";
}

std::string node_cache_device(const NatPathNames& names, const std::string& type) {
    return fmt::format(
        "link add {0} type {1}\naddress add {2}/32 dev {0}\naddress add {3}/32 dev {0}\n"
        "link set {0} up\n",
        names.node_cache_device, type, to_string(names.node_cache),
        to_string(names.service.address));
}

std::string node_cache_rules(const NatPathNames& names,
                             const std::optional<NodeCacheRules>& rules) {
    constexpr const char* kSkip = "-m comment --comment \"NodeLocal DNS Cache: skip conntrack\"";
    constexpr const char* kAllow =
        "-m comment --comment \"NodeLocal DNS Cache: allow DNS traffic\"";
    std::string raw;
    std::string filter;
    // Each is prepended: the last comes first.
    const auto prepend = [](std::string& chain, std::string rule) { chain.insert(0, rule + "\n"); };
    for (const frame::IpAddress& address : {names.node_cache, names.service.address}) {
        if (!rules) {
            break;
        }
        const std::string to = fmt::format("-d {}/32", to_string(address));
        const std::string from = fmt::format("-s {}/32", to_string(address));
        const auto skip = [&](const char* chain, const std::string& match) {
            if (rules->notrack) {
                prepend(raw, fmt::format("-A {} {} {} -j NOTRACK", chain, match, kSkip));
            }
        };
        const auto allow = [&](const char* chain, const std::string& match) {
            if (rules->accept) {
                prepend(filter, fmt::format("-A {} {} {} -j ACCEPT", chain, match, kAllow));
            }
        };
        for (const char* protocol : {"tcp", "udp"}) {
            const std::string query =
                fmt::format("{} -p {} -m {} --dport 53", to, protocol, protocol);
            const std::string answer =
                fmt::format("{} -p {} -m {} --sport 53", from, protocol, protocol);
            skip("PREROUTING", query);
            allow("INPUT", query);
            skip("OUTPUT", answer);
            allow("OUTPUT", answer);
            skip("OUTPUT", query);
        }
        // Its health check.
        skip("OUTPUT", to + " -p tcp -m tcp --dport 8080");
        skip("OUTPUT", from + " -p tcp -m tcp --sport 8080");
    }
    const bool by_state = rules && rules->input_by_state;
    return table_head("raw") + raw +
           fmt::format(
               "COMMIT\n*filter\n:INPUT {} [0:0]\n:FORWARD ACCEPT [0:0]\n:OUTPUT ACCEPT "
               "[0:0]\n",
               by_state ? "DROP" : "ACCEPT") +
           filter +
           (by_state ? "-A INPUT -i lo -j ACCEPT\n"
                       "-A INPUT -m conntrack --ctstate NEW,RELATED,ESTABLISHED -j ACCEPT\n"
                     : "") +
           "COMMIT\n";
}

std::string nat_path_rules(const NatPathNames& names, const NatPathOptions& options) {
    std::string rules =
        table_head("nat") +
        ":PATH-SERVICES - [0:0]\n"
        ":PATH-POSTROUTING - [0:0]\n"
        // Tracks flows whatever the other rules are, as the rules of a node do: without a match or a
        // target of conntrack's the kernel looks at no packet (nf_ct_netns_get), and translates none.
        "-A PREROUTING -m conntrack --ctstate NEW -j PATH-SERVICES\n"
        "-A POSTROUTING -j PATH-POSTROUTING\n";
    if (options.snat == PathSnat::kNone && names.own_snat != PathSnat::kNone) {
        rules += fmt::format("-A PATH-POSTROUTING -o {} -j ACCEPT\n", names.dut_server_device);
    } else if (options.snat != PathSnat::kNone &&
               (options.snat != names.own_snat || options.snat_ports.last != 0)) {
        rules += fmt::format(
            "-A PATH-POSTROUTING -o {} -p {} -j MASQUERADE{}{}\n", names.dut_server_device,
            options.snat_protocol, to_ports(options.snat_ports),
            options.snat == PathSnat::kMasqueradeRandomFully ? " --random-fully" : "");
    }
    if (options.hairpin) {
        rules += fmt::format("-A PATH-POSTROUTING -s {0}/24 -d {0}/24 -p udp -j MASQUERADE\n",
                             to_string(names.dut_client_address));
    }
    const std::string to_service =
        fmt::format("-d {} -p udp -m udp --dport {} -j ", host_prefix(names.service.address),
                    names.service.port);
    if (options.service != PathService::kNone && options.service != PathService::kNoEndpoint &&
        options.proxy != NatPathOptions::Proxy::kIpvs) {
        const frame::IpAddress& endpoint =
            options.service == PathService::kNeighbour
                ? names.neighbour_address
                : names.endpoints[options.service == PathService::kFirst ? 0 : 1];
        rules += fmt::format("-A PATH-SERVICES {}DNAT --to-destination {}\n", to_service,
                             to_string(frame::Endpoint{endpoint, names.service.port}));
    }
    const bool web =
        !options.web_endpoints.empty() && options.proxy == NatPathOptions::Proxy::kIptables;
    if (web || !options.dns_endpoints.empty()) {
        rules +=
            ":KUBE-SERVICES - [0:0]\n:KUBE-POSTROUTING - [0:0]\n"
            "-A PREROUTING -m comment --comment \"kubernetes service portals\" -j KUBE-SERVICES\n"
            "-A POSTROUTING -m comment --comment \"kubernetes postrouting rules\" -j "
            "KUBE-POSTROUTING\n" +
            kube_postrouting() + kube_marks();
    }
    if (!options.dns_endpoints.empty()) {
        rules += kube_service_rules(dns_service(names, options));
    }
    if (web) {
        rules += kube_service_rules(web_service(names, options));
    }
    rules += "COMMIT\n";
    if (options.service != PathService::kNone || options.tunnel ||
        options.invalid != PathInvalid::kNoRule) {
        rules += table_head("filter") +
                 (options.service == PathService::kNoEndpoint
                      ? "-A FORWARD " + to_service + "REJECT --reject-with " +
                            (is_v6(names) ? "icmp6" : "icmp") + "-port-unreachable\n"
                      : std::string()) +
                 (options.tunnel && !options.tunnel->icmp
                      ? "-A OUTPUT -p icmp -m icmp --icmp-type 3/4 -j DROP\n"
                      : "") +
                 invalid_rules(names, options) + "COMMIT\n";
    }
    return rules;
}

NatPathOptions with_cure(NatPathOptions options, const PathCure& cure) {
    if (cure.random_fully && options.snat == PathSnat::kMasquerade) {
        options.snat = PathSnat::kMasqueradeRandomFully;
    }
    options.timestamps = cure.timestamps.value_or(options.timestamps);
    options.be_liberal = options.be_liberal || cure.be_liberal;
    options.invalid = cure.drops_invalid ? PathInvalid::kDropped : options.invalid;
    options.hairpin = options.hairpin || cure.hairpin;
    return options;
}

std::string nat_path_proxy_table(const NatPathNames& names, const NatPathOptions& options) {
    return options.web_endpoints.empty() || options.proxy != NatPathOptions::Proxy::kNftables
               ? kube_nft_no_table(options.family)
               : kube_nft_table(web_service(names, options));
}

}  // namespace pathproof::lab
