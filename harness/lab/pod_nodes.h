// Two nodes whose pods are attached and detached by real CNI plug-ins, and a host outside of them:
//
//   pods a1, a2, ... - node-a eth0 - u0 [tester: wire of two DPDK ports] u1 - fabric -+- eth0 node-b - pods b1, ...
//                                                                                     +- eth0 outside
//
//   node-a 198.18.0.1/24, 2001:db8:18::1/64; node-b .2; outside .100. The fabric is a bridge of the
//   kernel. Pods have the addresses that the conflist gives them. Each plug-in runs in its node's
//   namespace, with host-local's leases and the runtime's cache of results in folders of the node's own.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/cni/chains.h"
#include "harness/cni/runtime.h"
#include "harness/lab/hosts.h"
#include "harness/lab/journal.h"
#include "harness/lab/kube_proxy.h"
#include "harness/lab/lab_file.h"
#include "harness/lab/snat.h"

namespace pathproof::lab {

class Namespaces;

// A network to attach pods to: built in, or a user's.
struct PodChain {
    std::string name;
    cni::Overlay overlay = cni::Overlay::kRoutes;
    std::array<std::string, 2> texts;    // the conflist of each node
    std::array<std::string, 2> sources;  // where each is from
    std::string plugins = cni::kDebianPlugins;
    bool has_tunnel() const {
        return overlay == cni::Overlay::kFlannel || overlay == cni::Overlay::kCalico;
    }
    // Returns whether the node's own rules see packets of pods: not if the pods are on the nodes'
    // network.
    bool passes_nodes() const { return overlay != cni::Overlay::kNone; }
};

inline constexpr std::array kNodeRoles{HostRole::kNodeA, HostRole::kNodeB};

struct Pod {
    std::string name;  // "a1"
    unsigned node = 0;
    std::string netns;
    cni::Attachment attachment;
    cni::Added added;
    std::optional<frame::IpAddress> address(frame::Family family) const;
    std::optional<frame::IpAddress> gateway(frame::Family family) const;
    // Returns its veth's end in the node's namespace; empty: it has none there.
    std::string node_device() const;
};

struct PodNodeNames {
    std::string tester, fabric, outside;  // network namespaces
    std::array<std::string, 2> nodes;
    std::string port_a = "u0", port_b = "u1";
    std::string device = "eth0";  // of each host
    frame::IpAddress node_address(unsigned node, frame::Family family) const;
    frame::IpAddress outside_address(frame::Family family) const;
};

// State of a node that a plug-in may leave behind, a line each, a list for each kind.
struct NodeState {
    std::vector<std::string> rules;  // "ip nat: -A POSTROUTING ..."
    std::vector<std::string> devices;
    std::vector<std::string> addresses;
    std::vector<std::string> routes;
    std::vector<std::string> leases;  // files of the node's folder
    bool operator==(const NodeState&) const = default;
};

class PodNodes {
  public:
    // The journal must outlive it. kKernelLacks: the kernel lacks what the network takes.
    static Result<std::unique_ptr<PodNodes>> build(Journal& journal, const PodChain& chain);
    ~PodNodes();

    const PodNodeNames& names() const { return names_; }
    const PodChain& chain() const { return chain_; }
    // A node's agent, which a lab whose DUT it is takes too.
    std::shared_ptr<agent::Client> shared_agent(unsigned node) const {
        return hosts_.shared_agent(kNodeRoles.at(node));
    }
    std::shared_ptr<agent::Client> outside_agent() const {
        return hosts_.shared_agent(HostRole::kServer);
    }
    cni::Runtime& runtime(unsigned node) { return runtimes_.at(node); }
    // UDP port of the tunnel; 0: there is none.
    std::uint16_t tunnel_port() const { return tunnel_port_; }

    // A namespace for a pod, and what it will be attached with.
    Result<Pod> make_pod(unsigned node, const std::string& name);
    // By the plug-ins; a node of routes learns the way to it. kKernelLacks: a plug-in said so.
    Status attach(Pod& pod);
    Status detach(const Pod& pod);

    // Returns how the node's rules translate the source of a new connection from the one address to
    // the other, out of the node's device.
    Result<Snat> snat_of(unsigned node, const frame::IpAddress& from,
                         const frame::IpAddress& to) const;

    // kube-proxy's rules for these services of one family, on both nodes.
    Status serve(const std::vector<KubeService>& services, frame::Family family);
    // Each line "[packets:bytes] -A CHAIN ..." of a node, with its table in front: "nat [1:60] -A ...".
    Result<std::vector<std::string>> counted_rules(unsigned node, frame::Family family) const;
    Result<NodeState> state(unsigned node) const;

  private:
    PodNodes(Journal& journal, PodChain chain);
    Status build_nodes();
    Status build_overlay();
    agent::Client& agent(unsigned node) const;
    Status add_rules(unsigned node, const std::string& rules, frame::Family family);
    PodNodeNames names_;
    PodChain chain_;
    std::string folder_;
    std::unique_ptr<Namespaces> namespaces_;
    Hosts hosts_;  // both nodes, and the one outside as a server
    std::vector<cni::Runtime> runtimes_;
    std::uint16_t tunnel_port_ = 0;
};

// The conflist that a chain has for a node, read.
Result<cni::Conflist> conflist_of(const PodChain& chain, unsigned node,
                                  const std::string& data_dir);

}  // namespace pathproof::lab
