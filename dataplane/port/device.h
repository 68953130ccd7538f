// A DPDK device's abilities, and the check that it can do what a port requests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/port/port.h"

struct rte_eth_dev_info;

namespace pathproof::port {

// rte_eth_dev_tx_offload_name() of each bit, and the like for receive offloads.
std::vector<std::string> tx_names(std::uint64_t offloads);
std::vector<std::string> rx_names(std::uint64_t offloads);

// Offloads that a device of the EAL could be opened with, RTE_ETH_TX_OFFLOAD_* and
// RTE_ETH_RX_OFFLOAD_*.
struct OffloadCapabilities {
    std::uint64_t tx = 0;
    std::uint64_t rx = 0;
};
// kNotFound if the EAL has no such device.
Result<OffloadCapabilities> capabilities(const std::string& device);

// The offloads that change what a frame looks like, or what is said of it: checksums,
// segmentation, VLAN insertion, frames in several mbufs.
extern const std::uint64_t kFrameTxOffloads;
extern const std::uint64_t kFrameRxOffloads;

// Refuses by name what `config` asks for and the device has not: queues, offloads, MTU.
Status check_capabilities(const PortConfig& config, const rte_eth_dev_info& device);

// The rings of an af_packet device: what its arguments (framesz=, framecnt=, blocksz=) say, or the
// driver's own numbers.
struct PacketRingShape {
    std::uint32_t slot = 0;  // bytes
    std::uint32_t slots = 0;
    std::uint32_t block = 0;  // bytes
};
PacketRingShape packet_ring_shape(const rte_eth_dev_info& device);

Evidence evidence_of(std::string_view driver, const std::string& device);

}  // namespace pathproof::port
