// The request to a NIC, in the terms of rte_mbuf, for a frame whose checksum modes say kOffload.
#pragma once

#include <cstdint>

#include "dataplane/frame/frame_spec.h"

struct rte_mbuf;

namespace pathproof::frame {

struct OffloadRequest {
    std::uint64_t mbuf_flags = 0;  // RTE_MBUF_F_TX_*
    // RTE_ETH_TX_OFFLOAD_*: what the port must have been opened with.
    std::uint64_t port_offloads = 0;
    std::uint16_t outer_l2_len = 0;
    std::uint16_t outer_l3_len = 0;
    std::uint16_t l2_len = 0;  // in a tunnel: outer UDP, tunnel and inner Ethernet headers
    std::uint16_t l3_len = 0;
    std::uint16_t l4_len = 0;
    std::uint16_t segment_bytes = 0;  // rte_mbuf's tso_segsz; 0: not to be cut

    bool any() const { return mbuf_flags != 0; }
    bool operator==(const OffloadRequest&) const = default;
};

// Says what does not fit the bits that rte_mbuf has for a length.
Status check(const OffloadRequest& request);

// Empty if no checksum mode of the frame is kOffload.
OffloadRequest offload_request(const FrameSpec& spec) noexcept;

// Sets flags and lengths of an mbuf that holds the frame. The fields hold already what
// rte_net_intel_cksum_prepare() would write, so that it makes no difference whether the driver
// calls it. Only an outer UDP checksum that is not left to the device is lost to that of DPDK 24.07
// and later, where something inner is left to it.
void apply_offload(rte_mbuf& frame, const OffloadRequest& request) noexcept;

}  // namespace pathproof::frame
