// One super-frame of the kernel's VXLAN device, held against the segments that came of it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/truth/finish.h"
#include "harness/verdict/truth_table.h"

namespace pathproof::truth {

// The frames that crossed the wire of all super-frames of one kind.
struct SegmentTally {
    std::uint64_t sent = 0;        // super-frames
    std::uint64_t frames = 0;      // segments that a perfect sender makes of them
    std::uint64_t seen = 0;        // on the wire, or made of what came by a healthy NIC
    std::uint64_t uncut = 0;       // super-frames that came as such
    std::uint64_t unfinished = 0;  // segments whose inner checksum was left to whoever comes next
    std::uint64_t wrong = 0;       // frames
    std::map<std::string, std::uint64_t> names;
    std::string doubt;  // why nothing is said: seen once only, or lost by the tester itself
    std::vector<matrix::FrameBytes> bad;
    std::string explanation;

    verdict::Observed observed(WireKind wire) const;
};

// The frames of one super-frame, in the order in which they came. `payload`, `segment_bytes`: as
// they were sent. `outer`: whether the outer UDP checksum is to be made.
enum class OuterSum : std::uint8_t { kComputed, kZero };
void judge_super_frame(const std::vector<matrix::FrameBytes>& wire,
                       const std::vector<std::uint8_t>& payload, std::uint16_t segment_bytes,
                       OuterSum outer, WireKind kind, SegmentTally& tally);

}  // namespace pathproof::truth
