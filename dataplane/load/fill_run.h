// The inner loop of the frame source: copies a prepared frame into each mbuf of a run and puts in
// what differs from one to the next.
#pragma once

#include <cstdint>
#include <span>

#include "dataplane/frame/stamp.h"
#include "dataplane/load/prepared_frame.h"

struct rte_mbuf;

namespace pathproof::load {

// Frames of one part that follow each other, their sequences alike but for the lowest 8 bits, and
// all from one source address.
struct FrameRun {
    std::span<rte_mbuf*> mbufs;
    std::uint32_t sequence = 0;  // of the first
    std::uint32_t port = 0;      // of the first; of the next: port_step further
    std::uint32_t port_step = 0;
    // Pairs: the second of one comes first, from the port of its sibling.
    enum class Begins : std::uint8_t { kWithFirst, kWithSecond } begins = Begins::kWithFirst;
    std::span<const std::uint16_t> outer_ports;  // as they lie in memory; empty: one for all
    std::size_t next_outer_port = 0;             // index of the first frame's
};

using FillRun = void (*)(const PreparedFrame& prepared, const frame::StampIds& ids,
                         const FrameRun& run) noexcept;

// Kinds of frames that a fill function can make.
enum class RunShape : std::uint8_t { kQueries, kQueryPairs, kEcho, kBinary };
FillRun fill_run_for(RunShape shape) noexcept;

}  // namespace pathproof::load
