// Names for every wrong outer UDP checksum of a wire, at its rate: each is counted by the source port that
// the frame has and the one for which its checksum would be right. Which of these pairs NAT made is for
// who knows the flows (join/checksums.h).
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/frame/view.h"
#include "dataplane/judge/verifier.h"
#include "dataplane/softnic/wire.h"

namespace pathproof::softnic {

class WrongSources {
  public:
    WrongSources() : slots_(kSlots) {}

    // Source port and the one it is right for, of a frame whose outer UDP checksum is wrong; 0: it is not.
    static std::uint32_t of(frame::Bytes bytes, const judge::FrameVerdict& verdict) noexcept;
    // No allocation. A pair that finds no place is counted in left_out().
    void add(Direction direction, std::uint32_t pair) noexcept;

    std::vector<WrongSource> all() const;
    std::uint64_t left_out() const { return left_out_; }

  private:
    static constexpr std::size_t kSlots = 8192;
    static constexpr std::size_t kTries = 64;

    struct Slot {
        std::uint64_t key = 0;  // 0: free
        std::uint64_t frames = 0;
    };
    std::vector<Slot> slots_;
    std::uint64_t left_out_ = 0;
};

// The source port for which a UDP checksum `wire` would be right where, with `port`, `right` is: sums of
// RFC 1071 differ by the difference of the ports. 1 to 65535.
constexpr std::uint16_t source_port_of_sum(std::uint16_t port, std::uint32_t wire,
                                           std::uint32_t right) noexcept {
    constexpr std::uint32_t kModulus = 0xffff;
    const std::uint32_t moved = (port + right % kModulus + kModulus - wire % kModulus) % kModulus;
    return static_cast<std::uint16_t>(moved == 0 ? kModulus : moved);
}

}  // namespace pathproof::softnic
