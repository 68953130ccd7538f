// Frames out of a source, for tests: made in buffers full of rubbish, so that nothing is relied on
// but what a pool guarantees of a freed mbuf. No EAL is needed.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dataplane/frame/stamp.h"
#include "dataplane/frame/view.h"
#include "dataplane/load/load_plan.h"
#include "dataplane/load/source.h"

namespace pathproof::load {

using Frame = std::vector<std::uint8_t>;

// A given number of mbufs, each with its own buffer.
class Mbufs {
  public:
    explicit Mbufs(std::size_t count, std::size_t room = 9'500);
    // Leaves the mbufs as a pool hands them out again: all but the pool's fields is rubbish.
    void spoil();
    std::span<rte_mbuf*> all() { return pointers_; }

  private:
    std::size_t room_;
    std::vector<rte_mbuf> mbufs_;
    std::vector<std::unique_ptr<std::uint8_t[]>> rooms_;
    std::vector<rte_mbuf*> pointers_;
};

Frame bytes_of(const rte_mbuf& mbuf);

// The next `count` frames, in bursts of `burst`; burst number b leaves at first_ns + b * 1000.
std::vector<Frame> next_frames(Source& source, std::size_t count, std::size_t burst = 32,
                               std::uint64_t first_ns = 5'000'000);

enum class Envelope : std::uint8_t { kNone, kVlan, kQinQ, kVxlan };
// From 198.18.0.1 to 203.0.113.2:53, or the like over IPv6; in VXLAN 42 from 198.51.100.1:5000 to
// 198.51.100.2:4789, the outer checksum by software.
frame::FrameSpec spec_of(frame::Family family, Envelope envelope);

frame::FrameView parsed(const Frame& frame);
// Returns whether the frame has a checksum, and both judges agree that every checksum is right.
bool is_right(const Frame& frame);
// Returns the stamp of the innermost packet, read by its transport.
std::optional<frame::Stamp> stamp_of(const Frame& frame);

}  // namespace pathproof::load
