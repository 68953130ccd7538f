// Makes the frames of one sending lcore: unique queries with valid checksums at a few cycles each.
// What is the same for a burst (the time, the upper digits of the sequence) is written once into a
// prepared frame; per frame it is copied, and the fields that differ and their checksums are put in
// by RFC 1624 arithmetic.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "dataplane/base/result.h"
#include "dataplane/load/load_plan.h"

struct rte_mbuf;

namespace pathproof::load {

class FrameSource {
  public:
    // Errors (kBadInput): what cannot be made, named: a frame size too small for its class or above
    // what the specification allows, more flows than addresses and ports give, a suffix too long.
    static Result<FrameSource> make(const SourcePlan& plan);
    FrameSource(FrameSource&&) noexcept;
    FrameSource& operator=(FrameSource&&) noexcept;
    ~FrameSource();

    // Turns fresh mbufs (from rte_mempool_get_bulk: nothing in them is relied on but what a pool
    // guarantees of a freed mbuf) into the next frames, all stamped `sent_ns`. No allocation.
    void fill(std::span<rte_mbuf*> burst, std::uint64_t sent_ns) noexcept;

    // Puts another time into frames that fill() made and that have not left yet.
    void restamp(std::span<rte_mbuf*> burst, std::uint64_t sent_ns) noexcept;

    // How many frames fill() has made of each class since the start. Their sequence numbers are
    // 0, 1, 2 ... without a gap, over all classes of the stream together.
    const ClassCounts& made() const noexcept;
    // Frames that were made and will never leave: taken out of made() by class.
    void take_back(std::span<rte_mbuf* const> burst) noexcept;

    std::uint16_t longest_frame() const noexcept;
    // Mean length over the mix, for rates in bits.
    double mean_frame_bytes() const noexcept;
    // RTE_ETH_TX_OFFLOAD_* that the port must have.
    std::uint64_t port_offloads() const noexcept;

  private:
    struct Impl;
    explicit FrameSource(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace pathproof::load
