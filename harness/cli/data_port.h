// One DPDK port in this process, for the commands that are a data plane on their own.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "dataplane/base/result.h"
#include "dataplane/port/eal.h"
#include "dataplane/port/port.h"

namespace pathproof::cli {

struct DataPortOptions {
    std::string port;               // kernel interface, vdev with its arguments, or PCI address
    std::string netns;              // this process moves into it; empty: it stays
    int cpu = 0;                    // of the one worker lcore
    std::uint64_t tx_offloads = 0;  // RTE_ETH_TX_OFFLOAD_*
};

struct DataPort {
    port::Eal eal;
    port::Port port;  // closed before the EAL

    // Errors: what choose_port, Eal::start and Port::open say.
    static Result<DataPort> open(const DataPortOptions& options);
};

// Becomes true on SIGINT, SIGTERM and SIGHUP, which no longer end the process: the figures so far
// are to be printed.
const std::atomic<bool>& stop_on_signals();

}  // namespace pathproof::cli
