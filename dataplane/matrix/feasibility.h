// The points of the matrix that make sense at all, and those of them that a device under test can
// take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "dataplane/matrix/covering.h"
#include "dataplane/matrix/dimensions.h"

namespace pathproof::matrix {

enum class Direction : std::uint8_t { kTransmit, kReceive };

enum class DutKind : std::uint8_t {
    kSoftwareNic,   // in memory: knows NAT from what it is told
    kDpdkPort,      // mbufs with RTE_MBUF_F_TX_* flags
    kKernelDevice,  // frames with a virtio_net_hdr through AF_PACKET
};

// Limits of a device under test; a plain value.
struct DutLimits {
    DutKind kind = DutKind::kSoftwareNic;
    std::uint32_t mtu = 9216;         // bytes of the outermost IP packet
    std::uint16_t most_buffers = 40;  // of one frame
    bool operator==(const DutLimits&) const = default;
};

// The limits that follow from the kind alone. A DPDK port without multi-segment transmission has
// most_buffers 1.
DutLimits software_nic_limits();
DutLimits dpdk_port_limits(std::uint32_t mtu, std::uint16_t most_buffers);
DutLimits kernel_device_limits(std::uint32_t mtu);

// The feasible part of the matrix.
Space space_for(const DutLimits& limits, Direction direction);

// The first rule that a row breaks, as a sentence: "a trailer inside the tunnel needs an inner
// Ethernet frame"; nothing if the row is feasible.
std::optional<std::string> objection(const Row& row, const DutLimits& limits, Direction direction);

}  // namespace pathproof::matrix
