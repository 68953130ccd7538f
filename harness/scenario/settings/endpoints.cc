#include "harness/scenario/settings/endpoints.h"

#include <fmt/format.h>

#include "harness/lab/kube_proxy.h"

namespace pathproof::scenario {
namespace {

using frame::Family;
using frame::IpAddress;
using setting::HostRole;

constexpr std::uint32_t kFirstEndpoint = 0xcb007110;  // 203.0.113.16
constexpr const char* kFirstEndpoint6 = "2001:db8:113::10";
constexpr EndpointState kHeldStates[] = {EndpointState::kServes, EndpointState::kClosed,
                                         EndpointState::kSilent, EndpointState::kStranger};

// A rule for each address.
std::string rules_for(EndpointState state, Family family, const char* chain, const char* target) {
    std::string lines;
    for (const IpAddress& address : endpoints_that(state, family)) {
        lines += fmt::format("-A {} -d {} -j {}\n", chain, lab::host_prefix(address), target);
    }
    return lines;
}

}  // namespace

std::vector<IpAddress> endpoints_that(EndpointState state, Family family) {
    std::vector<IpAddress> addresses;
    const IpAddress first =
        family == Family::kIpv4 ? IpAddress::v4(kFirstEndpoint) : *frame::parse_ip(kFirstEndpoint6);
    for (std::uint32_t i = 0; i < kEndpointsOfState; ++i) {
        addresses.push_back(first.plus(16 * static_cast<std::uint32_t>(state) + i));
    }
    return addresses;
}

setting::Settings endpoint_rules(Family family) {
    const char* const unreachable = family == Family::kIpv4
                                        ? "REJECT --reject-with icmp-host-unreachable"
                                        : "REJECT --reject-with icmp6-addr-unreachable";
    return {
        setting::rules(HostRole::kServer, setting::table_name("silent-endpoints", family), "filter",
                       rules_for(EndpointState::kSilent, family, "INPUT", "DROP"), "", family),
        setting::rules(HostRole::kDut, setting::table_name("rejected-endpoints", family), "filter",
                       rules_for(EndpointState::kRejected, family, "FORWARD", unreachable), "",
                       family),
        // A client is told of each connect that is rejected, not of one a second.
        setting::sysctl(
            HostRole::kDut,
            family == Family::kIpv4 ? "net.ipv4.icmp_ratelimit" : "net.ipv6.icmp.ratelimit", "0")};
}

Status add_endpoints(lab::NatPath& path) {
    for (const Family family : {Family::kIpv4, Family::kIpv6}) {
        if (family == Family::kIpv6 && !path.has_ipv6()) {
            continue;
        }
        std::vector<IpAddress> held;
        for (const EndpointState state : kHeldStates) {
            const std::vector<IpAddress> more = endpoints_that(state, family);
            held.insert(held.end(), more.begin(), more.end());
        }
        TRY(path.add_server_addresses(held));
        TRY(path.hosts().keep(endpoint_rules(family)));
    }
    return {};
}

}  // namespace pathproof::scenario
