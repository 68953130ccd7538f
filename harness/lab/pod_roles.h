// The roles of a lab (lab.h) that two nodes have whose pods are attached by CNI plug-ins: what the
// plug-ins and the overlay made, and what the lab adds for an experiment in front of it.
#pragma once

#include <memory>
#include <string>

#include "harness/lab/lab.h"
#include "harness/lab/pod_nodes.h"

namespace pathproof::lab {

// Returns why the network lacks the role; empty: it has it.
std::string lacks_role(const PodChain& chain, Role role);

// The two nodes with the network's own vxlan device, and a pod on each. The outer SNAT is a rule that
// the lab adds on both.
Result<std::unique_ptr<Overlay>> pod_overlay(Journal& journal, const PodChain& chain);

// Node A as the NAT box: the clients' ports are the devices of two pods, as the plug-ins made them,
// which the tester has taken over; the servers are on the nodes' wire. The service's rules are in front
// of the network's. SNAT is the network's own where that is as asked for.
Result<std::unique_ptr<NatBox>> pod_nat_box(Journal& journal, const PodChain& chain);

// A pod as the client, node A as the DUT, the host outside of the cluster as the server.
Result<std::unique_ptr<NatPath>> pod_nat_path(Journal& journal, const PodChain& chain);

// A pod's veth as the plug-ins made it, and the tester at its far end. kNotSupported: it has none, or
// the kernel lacks what the network takes.
Result<MadeDut> pod_device(Journal& journal, const PodChain& chain);

}  // namespace pathproof::lab
