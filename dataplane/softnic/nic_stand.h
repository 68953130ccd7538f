// A stand for the software NIC: two DPDK ports in this process, a software NIC between them. What
// is tested in place of two cabled hardware ports; every output of it says so.
#pragma once

#include <memory>
#include <vector>

#include "dataplane/softnic/nic_link.h"

namespace pathproof::softnic {

struct NicStandPlan {
    NicLimits limits;
    std::vector<Fault> faults;  // of the NIC under test; the one at the far end is healthy
    std::uint64_t seed = 1;
};

// RTE_ETH_TX_OFFLOAD_* and RTE_ETH_RX_OFFLOAD_* that the engine honours.
std::uint64_t tx_capabilities();
std::uint64_t rx_capabilities();

class NicStand {
  public:
    // The ends that an application would open: `device` is the NIC under test, `far` the port at
    // the other end of its cable. Both are of rings.
    struct Made {
        std::unique_ptr<NicStand> stand;  // outlives neither the EAL nor, to be quiet, the ports
        port::Port device;
        port::Port far;
    };
    // Errors: a worker that is busy; no memory for the rings (the EAL's is too small).
    static Result<Made> start(port::Eal& eal, unsigned worker, const NicStandPlan& plan);
    NicStand(const NicStand&) = delete;
    NicStand& operator=(const NicStand&) = delete;
    ~NicStand();

    // directions[0]: what the NIC under test sent; directions[1]: what it received. Once only.
    NicLinkReport stop();

  private:
    NicStand();
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace pathproof::softnic
