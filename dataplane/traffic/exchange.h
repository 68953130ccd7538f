// Frames with their requests out of one port, and what comes in at another: bytes, and what the
// driver says of them. Nothing is judged here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/offload.h"
#include "dataplane/port/eal.h"
#include "dataplane/port/port.h"
#include "dataplane/traffic/pace.h"

namespace pathproof::traffic {

struct ExchangeFrame {
    std::vector<std::uint8_t> bytes;
    frame::OffloadRequest request;       // of the mbuf; without any, the frame leaves as it is
    std::uint16_t vlan_tci = 0;          // with RTE_MBUF_F_TX_VLAN
    std::vector<std::uint32_t> buffers;  // lengths; empty: as few as the port's pool has room for
    bool operator==(const ExchangeFrame&) const = default;
};

struct ExchangePlan {
    std::size_t from = 0;  // indices of ports
    std::size_t to = 1;    // the same: what comes back to the port that sent
    std::vector<ExchangeFrame> frames;
    // Silence after the last sent frame that ends the exchange.
    Nanoseconds quiet = std::chrono::milliseconds(50);
    bool operator==(const ExchangePlan&) const = default;
};

// A frame that the driver would not take, with its reason.
struct FrameRefusal {
    std::uint32_t index = 0;  // in the plan
    std::string reason;
    bool operator==(const FrameRefusal&) const = default;
};

struct ArrivedFrame {
    std::vector<std::uint8_t> bytes;
    std::uint64_t mbuf_flags = 0;   // RTE_MBUF_F_RX_*
    std::uint32_t packet_type = 0;  // RTE_PTYPE_*
    std::uint16_t vlan_tci = 0;     // with RTE_MBUF_F_RX_VLAN_STRIPPED
    bool operator==(const ArrivedFrame&) const = default;
};

struct ExchangeReport {
    std::vector<FrameRefusal> refusals;
    std::vector<ArrivedFrame> arrived;  // in the order in which they came
    // Not empty: why a frame that is missing may be the tester's own loss.
    std::vector<std::string> objections;
    bool operator==(const ExchangeReport&) const = default;
};

// Runs the plan on one worker lcore, to its end. Each frame goes through rte_eth_tx_prepare(), as
// every application must do that asks for offloads. Errors: a port that does not exist, a busy
// worker, no mbuf for the frames.
Result<ExchangeReport> exchange(port::Eal& eal, unsigned worker, std::span<port::Port> ports,
                                const ExchangePlan& plan);

}  // namespace pathproof::traffic
