// Counts checksums by layer and state, and what the NIC said of them, without touching a counter
// for each layer of each frame: frames that are alike are counted by the run.
#pragma once

#include <cstdint>

#include "dataplane/judge/quick_verifier.h"
#include "dataplane/load/tracked_intake.h"

namespace pathproof::load {

class ClaimTally {
  public:
    static constexpr std::uint32_t kTunnelTypes = 0xf000;  // RTE_PTYPE_TUNNEL_MASK
    static constexpr std::uint64_t kClaims = 0x198;        // RTE_MBUF_F_RX_IP_CKSUM_MASK and L4's

    // Adds `frames` frames that are alike; `flags` and `packet_type` are the mbuf's.
    void add(judge::QuickCode code, std::uint64_t flags, std::uint32_t packet_type,
             IntakeTotals& totals, std::uint64_t frames = 1) noexcept {
        const std::uint64_t run =
            std::uint64_t{code.index()} << 32 | (packet_type & kTunnelTypes) | (flags & kClaims);
        if (run != run_) [[unlikely]] {
            flush(totals);
            run_ = run;
        }
        frames_ += frames;
    }
    // Brings `totals` up to date; to be called before they are looked at.
    void flush(IntakeTotals& totals) noexcept;

    // Adds a frame that the quick verifier does not know.
    static void add(const judge::FrameVerdict& verdict, std::uint64_t flags,
                    std::uint32_t packet_type, IntakeTotals& totals) noexcept;

  private:
    // The code in the upper half, below it the tunnel's type, then the claims' flags.
    std::uint64_t run_ = 0;
    std::uint64_t frames_ = 0;
};

}  // namespace pathproof::load
