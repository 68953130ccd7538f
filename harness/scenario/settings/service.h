// lab::Settings of a service on the DUT of the NAT path: one rule, the chains of kube-proxy, IPVS.
#pragma once

#include <vector>

#include "harness/lab/nat_path.h"
#include "harness/setting/setting.h"

namespace pathproof::scenario {

// Port of the TCP service's endpoints.
inline constexpr std::uint16_t kEndpointPort = 8080;

// kube-proxy's modes.
enum class Proxy { kIptables, kNftables, kIpvs };

// Packets to the service on UDP go to that endpoint, or are rejected for want of one: a rule each.
setting::Setting udp_service(const lab::NatPathNames& names, const frame::IpAddress& endpoint);
setting::Setting no_endpoint(const lab::NatPathNames& names);

// The rules of the service on TCP, which name these endpoints, in the layout of that mode.
lab::Settings web_service(const lab::NatPathNames& names, Proxy proxy,
                          const std::vector<frame::IpAddress>& endpoints);
// The rules of the service on UDP, in kube-proxy's iptables layout; they replace udp_service().
lab::Settings dns_service(const lab::NatPathNames& names,
                          const std::vector<frame::IpAddress>& endpoints);

// IPVS as kube-proxy has it, IPv4: the service on UDP with one endpoint, that on TCP with one; nothing: no
// such service.
struct IpvsServices {
    std::optional<frame::IpAddress> udp = std::nullopt;
    std::optional<frame::IpAddress> tcp = std::nullopt;
    unsigned reuse_mode = 1;      // net.ipv4.vs.conn_reuse_mode
    bool expires_nodest = false;  // net.ipv4.vs.expire_nodest_conn, which kube-proxy sets
};
lab::Settings ipvs_services(const lab::NatPathNames& names, const IpvsServices& services);

// TCP that conntrack calls INVALID is counted, and passes.
setting::Setting count_invalid();

}  // namespace pathproof::scenario
