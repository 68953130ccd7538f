// Super-frames through the kernel's own VXLAN device on top of the device under test: the only way
// to make use of tx-udp_tnl-segmentation and tx-udp_tnl-csum-segmentation.
#pragma once

#include <map>

#include "harness/scenario/offload_truth/table.h"

namespace pathproof::scenario {

// Steps of progress that judge_tunnel_segments() makes.
std::size_t segment_steps();

// Sends UDP super-frames of an ordinary socket (UDP_SEGMENT) and TCP ones of a packet socket on the
// VXLAN device, with and without outer UDP checksum, the feature on and off, and audits every
// segment. Adds cells, a truth table and what is wrong. A device that cannot bear the VXLAN
// device's address is told of in the table.
Status judge_tunnel_segments(Context& context, TruthBench& bench, TruthRun& run,
                             verdict::ScenarioResult& result);

// What crossed the wire of super-frames that were sent.
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

}  // namespace pathproof::scenario
