// A stand for the software NIC: two DPDK ports in this process, a software NIC between them. What
// is tested in place of two cabled hardware ports; every output of it says so.
#pragma once

#include <memory>
#include <vector>

#include "dataplane/softnic/nic_link.h"

namespace pathproof::softnic {

// RTE_ETH_TX_OFFLOAD_* and RTE_ETH_RX_OFFLOAD_* that the engine honours.
std::uint64_t tx_capabilities();
std::uint64_t rx_capabilities();

// Outlives neither the EAL nor, to be quiet, the ports that were taken from it.
struct NicStand {
    // Errors: a worker that is busy; no memory for the rings (the EAL's is too small).
    static Result<NicStand> start(port::Eal& eal, unsigned worker, const NicLinkPlan& plan);

    // Ends the link and reports, first on what the NIC under test sent, then on what it received.
    // To be called once only.
    NicLinkReport stop() { return link->stop(); }

    std::vector<port::Port> inside;  // the link's; closed after it
    std::unique_ptr<NicLink> link;
    // The ends that an application would open, both of rings: the NIC under test, and the port at
    // the other end of its cable.
    port::Port device;
    port::Port far;
};

}  // namespace pathproof::softnic
