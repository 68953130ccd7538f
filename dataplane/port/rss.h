// Distribution of received frames among a device's queues (receive-side scaling).
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/port/port.h"

struct rte_eth_dev_info;

namespace pathproof::port {

// The request to the driver. The key repeats the same 16 bits, so that both directions of a flow
// fall on one queue (Woo and Park, Scalable TCP Session Monitoring with Symmetric Receive-side
// Scaling, 2012).
struct RssSetup {
    std::uint64_t hash_functions = 0;  // RTE_ETH_RSS_*; 0: the device is not asked
    std::vector<std::uint8_t> key;     // of the length that the device wants; empty: its own
};

// Errors: several receive queues on a device that says nothing of RSS and does not spread by itself
// either (the first queue would get everything).
Result<RssSetup> choose_rss(const PortConfig& config, const rte_eth_dev_info& device);

}  // namespace pathproof::port
