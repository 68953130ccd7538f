// DPDK ports in this process, for the commands that are a data plane on their own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/port/eal.h"
#include "dataplane/port/port.h"
#include "harness/lab/journal.h"

namespace pathproof::cli {

struct DataPortRequest {
    std::string port;  // kernel interface, af_xdp:INTERFACE, vdev with its arguments, PCI address
    std::uint16_t queues = 1;             // each way
    std::uint32_t send_buffer_bytes = 0;  // PortConfig's
    std::uint64_t tx_offloads = 0;        // RTE_ETH_TX_OFFLOAD_*
};

struct DataPortsOptions {
    std::vector<DataPortRequest> ports;  // no device twice
    std::string netns;                   // this process moves into it; empty: it stays
    std::vector<int> cpus = {0};         // one worker lcore each: worker 0 on the first
};

struct DataPorts {
    std::unique_ptr<lab::Journal> journal;  // of the kernel interfaces behind the ports, or null
    port::Eal eal;
    std::vector<port::Port> ports;        // as they were asked for; closed before the EAL
    std::vector<std::string> objections;  // lcores on another NUMA node than a port's device

    // PCI devices are served from hugepages, virtual devices alone from ordinary pages. Errors:
    // what choose_port, open_noted, Eal::start and Port::open say; a device named twice; a link
    // that did not come up.
    static Result<DataPorts> open(const DataPortsOptions& options);
};

}  // namespace pathproof::cli
