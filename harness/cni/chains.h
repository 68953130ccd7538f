// The networks that the lab cni has built in: conflists of plug-ins that Debian packages, and what an
// overlay's daemon adds on each of two nodes. Pure texts.
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/result.h"

namespace pathproof::cni {

// Carrier of pods' packets from node to node.
enum class Overlay {
    kRoutes,   // the nodes' routes to each other's pods
    kFlannel,  // vxlan and rules as flanneld makes them (flannel pkg/backend/vxlan, pkg/trafficmngr)
    // vxlan and rules as calico-node makes them (felix dataplane/linux, felix/rules/nat.go), with
    // networks in the place of its ip sets.
    kCalico,
    kNone,  // pods are on the nodes' own network
};

struct Chain {
    const char* name;
    const char* what;
    Overlay overlay;
    const char* conflist;  // "{{node}}" stands for the node's number
};

const std::vector<Chain>& built_in_chains();
const Chain* find_chain(const std::string& name);  // null: there is none

// The overlay's devices and rules on one of two nodes, for packets to the other. `tunnel` is for
// `ip -batch`, `forwarding` a command of bridge(8) (empty: none), `rules` for iptables-restore
// --noflush.
struct OverlaySetup {
    std::string device;
    unsigned vni = 0;
    std::uint16_t port = 0;
    std::string tunnel;
    std::vector<std::string> forwarding;
    std::string rules;
};
// Returns the setup of node 1 or 2, of kFlannel or kCalico. Both programs leave the outer UDP
// checksum on.
OverlaySetup overlay_setup(Overlay overlay, unsigned node, bool udp_checksum = true);

}  // namespace pathproof::cni
