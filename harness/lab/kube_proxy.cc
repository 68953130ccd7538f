#include "harness/lab/kube_proxy.h"

#include <fmt/format.h>
#include <sha2.h>

#include <algorithm>
#include <array>

namespace pathproof::lab {
namespace {

using frame::IpAddress;

constexpr std::size_t kNftNameLength = 240;  // pkg/proxy/nftables, chainNameBaseLengthMax

// The first characters of the SHA-256 of a text in base32 (RFC 4648).
std::string hash_name(const std::string& text, std::size_t characters) {
    std::array<std::uint8_t, SHA256_DIGEST_LENGTH> digest{};
    SHA2_CTX context;
    SHA256Init(&context);
    SHA256Update(&context, reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    SHA256Final(digest.data(), &context);
    std::string name;
    for (std::size_t bit = 0; name.size() < characters; bit += 5) {
        const unsigned two = static_cast<unsigned>(digest[bit / 8]) << 8 | digest[bit / 8 + 1];
        name += "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[two >> (11 - bit % 8) & 31];
    }
    return name;
}

std::string port_name(const KubeService& service) {
    return fmt::format("{}/{}:{}", service.name_space, service.name, service.port);
}

std::string endpoint_text(const KubeService& service, const IpAddress& endpoint) {
    return to_string(frame::Endpoint{endpoint, service.endpoint_port});
}

std::string comment(const std::string& text) {
    return fmt::format("-m comment --comment \"{}\" ", text);
}

std::string nft_name(std::string name) {
    name = hash_name(name, 8) + "-" + name;
    return name.size() > kNftNameLength ? name.substr(0, kNftNameLength - 3) + "..." : name;
}

std::string nft_service(const KubeService& service) {
    return fmt::format("{}/{}/{}/{}", service.name_space, service.name, service.protocol,
                       service.port);
}

std::string nft_endpoint_chain(const KubeService& service, const IpAddress& endpoint) {
    std::string address = to_string(endpoint);
    std::ranges::replace(address, ':', '.');
    return "endpoint-" +
           nft_name(fmt::format("{}__{}/{}", nft_service(service), address, service.endpoint_port));
}

const char* nft_family(frame::Family family) {
    return family == frame::Family::kIpv4 ? "ip" : "ip6";
}

}  // namespace

std::string kube_marks() {
    return ":KUBE-MARK-MASQ - [0:0]\n-A KUBE-MARK-MASQ -j MARK --or-mark 0x4000\n";
}

std::string kube_postrouting() {
    return "-A KUBE-POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN\n"
           "-A KUBE-POSTROUTING -j MARK --xor-mark 0x4000\n"
           "-A KUBE-POSTROUTING -m comment --comment \"kubernetes service traffic requiring SNAT\" "
           "-j MASQUERADE --random-fully\n";
}

std::string host_prefix(const IpAddress& address) {
    return to_string(address) + (address.family == frame::Family::kIpv4 ? "/32" : "/128");
}

std::string kube_service_chain(const KubeService& service) {
    return "KUBE-SVC-" + hash_name(port_name(service) + service.protocol, 16);
}

std::string kube_endpoint_chain(const KubeService& service, const IpAddress& endpoint) {
    return "KUBE-SEP-" +
           hash_name(port_name(service) + service.protocol + endpoint_text(service, endpoint), 16);
}

std::string kube_service_rules(const KubeService& service) {
    const std::string name = port_name(service);
    const std::string chain = kube_service_chain(service);
    const std::string to_service =
        comment(name + " cluster IP") +
        fmt::format("-d {} -p {} -m {} --dport {} ", host_prefix(service.address.address),
                    service.protocol, service.protocol, service.address.port);
    std::string rules = fmt::format(":{} - [0:0]\n", chain);
    for (const IpAddress& endpoint : service.endpoints) {
        rules += fmt::format(":{} - [0:0]\n", kube_endpoint_chain(service, endpoint));
    }
    rules += fmt::format("-A KUBE-SERVICES {}-j {}\n", to_service, chain);
    if (!service.pods.empty()) {
        rules +=
            fmt::format("-A {} {}! -s {} -j KUBE-MARK-MASQ\n", chain, to_service, service.pods);
    }
    for (std::size_t i = 0; i < service.endpoints.size(); ++i) {
        const IpAddress& endpoint = service.endpoints[i];
        const std::string to = endpoint_text(service, endpoint);
        const std::string endpoint_chain = kube_endpoint_chain(service, endpoint);
        const std::size_t left = service.endpoints.size() - i;
        const std::string chance =
            left == 1 ? ""
                      : fmt::format("-m statistic --mode random --probability {:.10f} ",
                                    1.0 / static_cast<double>(left));
        rules += fmt::format("-A {} {}{}-j {}\n", chain, comment(name + " -> " + to), chance,
                             endpoint_chain);
        rules += fmt::format("-A {} {}-s {} -j KUBE-MARK-MASQ\n", endpoint_chain, comment(name),
                             host_prefix(endpoint));
        rules += fmt::format("-A {} {}-p {} -m {} -j DNAT --to-destination {}\n", endpoint_chain,
                             comment(name), service.protocol, service.protocol, to);
    }
    return rules;
}

std::string kube_nft_no_table(frame::Family family) {
    // Added first: deleting what is not there is an error.
    return fmt::format("add table {0} kube-proxy\ndelete table {0} kube-proxy\n",
                       nft_family(family));
}

std::string kube_nft_table(const KubeService& service) {
    const frame::Family family = service.address.address.family;
    const char* const ip = nft_family(family);
    const std::string chain = "service-" + nft_name(nft_service(service));
    std::string table =
        kube_nft_no_table(family) + fmt::format(
                                        "table {} kube-proxy {{\n"
                                        "chain mark-for-masquerade {{ mark set mark or 0x4000; }}\n"
                                        "chain masquerading {{\nmark and 0x4000 == 0 return;\n"
                                        "mark set mark xor 0x4000;\nmasquerade fully-random;\n}}\n",
                                        ip);
    std::string choices;
    for (std::size_t i = 0; i < service.endpoints.size(); ++i) {
        const IpAddress& endpoint = service.endpoints[i];
        const std::string endpoint_chain = nft_endpoint_chain(service, endpoint);
        table += fmt::format(
            "chain {} {{\n{} saddr {} jump mark-for-masquerade;\n"
            "meta l4proto {} counter dnat to {};\n}}\n",
            endpoint_chain, ip, to_string(endpoint), service.protocol,
            endpoint_text(service, endpoint));
        choices += fmt::format("{}{} : goto {}", i == 0 ? "" : ", ", i, endpoint_chain);
    }
    const std::string from_outside =
        service.pods.empty()
            ? ""
            : fmt::format("{0} daddr {1} {0} saddr != {2} jump mark-for-masquerade;\n", ip,
                          to_string(service.address.address), service.pods);
    return table +
           fmt::format(
               "chain {3} {{\n{4}numgen random mod {5} vmap {{ {6} }};\n}}\n"
               "map service-ips {{\ntype ipv{7}_addr . inet_proto . inet_service : verdict;\n"
               "elements = {{ {1} . {2} . {8} : goto {3} }};\n}}\n"
               "chain services {{ {0} daddr . meta l4proto . th dport vmap @service-ips; }}\n"
               "chain nat-prerouting {{ type nat hook prerouting priority -100; jump "
               "services; }}\n"
               "chain nat-output {{ type nat hook output priority -100; jump services; }}\n"
               "chain nat-postrouting {{ type nat hook postrouting priority 100; jump "
               "masquerading; }}\n}}\n",
               ip, to_string(service.address.address), service.protocol, chain, from_outside,
               service.endpoints.size(), choices, family == frame::Family::kIpv4 ? 4 : 6,
               service.address.port);
}

}  // namespace pathproof::lab
