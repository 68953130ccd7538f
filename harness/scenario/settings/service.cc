#include "harness/scenario/settings/service.h"

#include <fmt/format.h>

#include "harness/lab/kube_proxy.h"
#include "harness/setting/cures.h"

namespace pathproof::scenario {
namespace {

using frame::Family;
using frame::IpAddress;
using lab::NatPathNames;
using setting::HostRole;

constexpr const char* kIpvsDevice = "kube-ipvs0";  // has the address of the service

std::string to_udp_service(const NatPathNames& names) {
    return fmt::format("-d {} -p udp -m udp --dport {} -j ",
                       lab::host_prefix(names.service.address), names.service.port);
}

std::string service_id(const NatPathNames& names, const char* id) {
    return setting::table_name(id, names.client_address.family);
}

lab::KubeService kube_web(const NatPathNames& names, const std::vector<IpAddress>& endpoints) {
    const bool ipv4 = names.client_address.family == Family::kIpv4;
    return {.name = "web",
            .port = "http",
            .protocol = "tcp",
            .address = names.web_service,
            .endpoints = endpoints,
            .endpoint_port = kEndpointPort,
            .pods = to_string(names.dut_client_address) + (ipv4 ? "/24" : "/64")};
}

lab::KubeService kube_dns(const NatPathNames& names, const std::vector<IpAddress>& endpoints) {
    return {.name = "kube-dns",
            .port = "dns",
            .protocol = "udp",
            .address = names.service,
            .endpoints = endpoints,
            .endpoint_port = names.service.port,
            .name_space = "kube-system",
            .pods = ""};
}

lab::Settings kube_chains(const NatPathNames& names, const char* id,
                          const lab::KubeService& service) {
    const Family family = names.client_address.family;
    return {
        setting::rules(HostRole::kDut, service_id(names, "kube-proxy"), "nat",
                       ":KUBE-SERVICES - [0:0]\n:KUBE-POSTROUTING - [0:0]\n"
                       "-A PREROUTING -m comment --comment \"kubernetes service portals\" -j "
                       "KUBE-SERVICES\n"
                       "-A POSTROUTING -m comment --comment \"kubernetes postrouting rules\" -j "
                       "KUBE-POSTROUTING\n" +
                           lab::kube_postrouting() + lab::kube_marks(),
                       "", family),
        setting::rules(HostRole::kDut, service_id(names, id), "nat",
                       lab::kube_service_rules(service), "", family)};
}

std::string ipvs_lines(const char* protocol, const frame::Endpoint& service,
                       const frame::Endpoint& endpoint) {
    return fmt::format("-A {0} {1} -s rr\n-a {0} {1} -r {2} -m -w 1\n", protocol,
                       to_string(service), to_string(endpoint));
}

}  // namespace

setting::Setting udp_service(const NatPathNames& names, const IpAddress& endpoint) {
    return setting::rules(
        HostRole::kDut, service_id(names, "udp-service"), "nat",
        fmt::format("-A PATH-SERVICES {}DNAT --to-destination {}\n", to_udp_service(names),
                    to_string(frame::Endpoint{endpoint, names.service.port})),
        "", names.client_address.family);
}

setting::Setting no_endpoint(const NatPathNames& names) {
    const Family family = names.client_address.family;
    return setting::rules(
        HostRole::kDut, service_id(names, "udp-service"), "filter",
        fmt::format("-A FORWARD {}REJECT --reject-with {}-port-unreachable\n",
                    to_udp_service(names), family == Family::kIpv4 ? "icmp" : "icmp6"),
        "", family);
}

lab::Settings web_service(const NatPathNames& names, Proxy proxy,
                          const std::vector<IpAddress>& endpoints) {
    const lab::KubeService service = kube_web(names, endpoints);
    switch (proxy) {
        case Proxy::kIptables: return kube_chains(names, "web-service", service);
        case Proxy::kNftables:
            return {setting::nft_table(HostRole::kDut, service_id(names, "web-service"),
                                       "kube-proxy", lab::kube_nft_table(service),
                                       names.client_address.family)};
        case Proxy::kIpvs: return ipvs_services(names, {.tcp = endpoints.front()});
    }
    return {};
}

lab::Settings dns_service(const NatPathNames& names, const std::vector<IpAddress>& endpoints) {
    return kube_chains(names, "dns-service", kube_dns(names, endpoints));
}

lab::Settings ipvs_services(const NatPathNames& names, const IpvsServices& services) {
    std::string lines;
    if (services.udp) {
        lines += ipvs_lines("-u", names.service, {*services.udp, names.service.port});
    }
    if (services.tcp) {
        lines += ipvs_lines("-t", names.web_service, {*services.tcp, kEndpointPort});
    }
    const std::string address = to_string(names.service.address);
    const auto vs = [](const char* name, unsigned value) {
        return setting::sysctl(HostRole::kDut, std::string("net.ipv4.vs.") + name,
                               std::to_string(value));
    };
    return {setting::links(HostRole::kDut, "ipvs-device", "$TO_SERVER",
                           {{fmt::format("link add {} type dummy", kIpvsDevice),
                             fmt::format("link delete {}", kIpvsDevice)},
                            {fmt::format("address add {}/32 dev {}", address, kIpvsDevice),
                             fmt::format("address delete {}/32 dev {}", address, kIpvsDevice)}}),
            setting::ipvs(HostRole::kDut, "ipvs-services", lines), vs("conntrack", 1),
            vs("conn_reuse_mode", services.reuse_mode),
            vs("expire_nodest_conn", services.expires_nodest ? 1 : 0)};
}

setting::Setting count_invalid() {
    return setting::rules(HostRole::kDut, "count-invalid", "filter",
                          setting::invalid_rules("ACCEPT"));
}

}  // namespace pathproof::scenario
