// The rules of a service as kube-proxy lays them, in its iptables and in its nftables mode: pure
// texts, with the names that it gives its chains (pkg/proxy/iptables and pkg/proxy/nftables).
#pragma once

#include <string>
#include <vector>

#include "dataplane/frame/address.h"

namespace pathproof::lab {

struct KubeService {
    std::string name;      // of its namespace: "kube-dns"
    std::string port;      // by name: "dns"
    std::string protocol;  // "tcp", "udp"
    frame::Endpoint address;
    std::vector<frame::IpAddress> endpoints;
    std::uint16_t endpoint_port = 0;
    std::string name_space = "default";
    std::string
        pods;  // their network; what comes from outside of it is masqueraded. Empty: not told
};

// "KUBE-SVC-TCOU7JCQXEZGVUNU", "KUBE-SEP-..." of an endpoint of the service.
std::string kube_service_chain(const KubeService& service);
std::string kube_endpoint_chain(const KubeService& service, const frame::IpAddress& endpoint);

// For iptables-restore, within the table nat: the chains of one service port. SERVICES -> SVC -> one
// SEP, each equally likely. They use kube_marks(), once a table.
std::string kube_service_rules(const KubeService& service);
std::string kube_marks();
// The rules of the chain KUBE-POSTROUTING.
std::string kube_postrouting();

// The address as iptables prints it: "198.18.0.2/32".
std::string host_prefix(const frame::IpAddress& address);

// For `nft -f -`: all of kube-proxy's table of that family anew, for one service; or without any.
// Each endpoint's rule has a counter, which kube-proxy does not give it.
std::string kube_nft_table(const KubeService& service);
std::string kube_nft_no_table(frame::Family family);

}  // namespace pathproof::lab
