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

    // `flags` and `packet_type` are the mbuf's.
    void add(judge::QuickCode code, std::uint64_t flags, std::uint32_t packet_type,
             IntakeTotals& totals) noexcept {
        const Run run{code, claims_of(flags), sees_tunnel(packet_type)};
        if (run != run_) [[unlikely]] {
            flush(totals);
            run_ = run;
        }
        ++frames_;
    }
    // To be called before `totals` are looked at.
    void flush(IntakeTotals& totals) noexcept;

    // The same for a frame that the quick verifier does not know.
    static void add(const judge::FrameVerdict& verdict, std::uint64_t flags,
                    std::uint32_t packet_type, IntakeTotals& totals) noexcept;

  private:
    // Bits: L4 bad, IP bad, IP good, L4 good, as RTE_MBUF_F_RX_* follow each other.
    using Claims = std::uint8_t;
    struct Run {
        judge::QuickCode code;
        Claims claims = 0;
        bool sees_tunnel = false;
        bool operator==(const Run&) const = default;
    };
    static constexpr Claims claims_of(std::uint64_t flags) noexcept {
        return static_cast<Claims>((flags >> 3 & 3) | (flags >> 5 & 12));
    }
    static constexpr bool sees_tunnel(std::uint32_t packet_type) noexcept {
        return (packet_type & kTunnelTypes) != 0;
    }
    static void count_claims(judge::Layer layer, judge::ChecksumState state, const Run& run,
                             std::uint64_t frames, IntakeTotals& totals) noexcept;

    Run run_;
    std::uint64_t frames_ = 0;
};

}  // namespace pathproof::load
