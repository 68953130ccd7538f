// The source of a sending lcore's frames: made by class (frame_source.h) or read from a capture
// file (replay.h). One virtual call a burst, none a frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "dataplane/load/load_plan.h"

struct rte_mbuf;

namespace pathproof::load {

class Source {
  public:
    virtual ~Source() = default;

    // Turns fresh mbufs (from rte_mempool_get_bulk: nothing in them is relied on but what a pool
    // guarantees of a freed mbuf) into the next frames, all stamped `sent_ns`. Returns how many:
    // fewer than asked for when there are no more, and the rest is as it was. No allocation.
    virtual std::size_t fill(std::span<rte_mbuf*> burst, std::uint64_t sent_ns) noexcept = 0;

    // Notes that the next `frames` frames, in the order in which fill() made them, left at `at_ns`.
    virtual void left(std::size_t /*frames*/, std::uint64_t /*at_ns*/) noexcept {}

    // Puts another time into frames that fill() made and that have not left yet.
    virtual void restamp(std::span<rte_mbuf*> burst, std::uint64_t sent_ns) noexcept = 0;

    // Returns when the next frame has to leave, in nanoseconds after the first one, where the
    // source has times of its own (a capture file's). Returns nothing where the rate decides.
    virtual std::optional<std::uint64_t> next_due_ns() const noexcept = 0;

    // Returns how many frames fill() has made of each class since the start, without those taken
    // back.
    virtual const ClassCounts& made() const noexcept = 0;
    // Frames that were made and will never leave: taken out of made() by class. Their sequence
    // numbers are not used again.
    virtual void take_back(std::span<rte_mbuf* const> burst) noexcept = 0;

    virtual std::uint16_t longest_frame() const noexcept = 0;
    // Mean length over the mix, for rates in bits.
    virtual double mean_frame_bytes() const noexcept = 0;
    // RTE_ETH_TX_OFFLOAD_* that the port must have.
    virtual std::uint64_t port_offloads() const noexcept = 0;
};

}  // namespace pathproof::load
