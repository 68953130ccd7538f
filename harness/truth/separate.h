// The shortest description that separates wrong frames from right ones.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dataplane/matrix/probe.h"

namespace pathproof::truth {

// One frame or super-frame, as far as a description may speak of it.
struct Sample {
    matrix::Row row;
    std::uint32_t frame_bytes = 0;    // Ethernet, without FCS; of a super-frame its longest segment
    std::uint32_t payload_bytes = 0;  // of the innermost packet; of a super-frame all of it
    std::uint32_t segments = 1;       // on the wire
    bool wrong = false;
};
Sample sample_of(const matrix::Row& row, const matrix::Probe& probe, bool wrong);

// A number that separates: wrong frames have more (or at least) so much, right ones at most.
struct Border {
    enum class Of : std::uint8_t { kFrameBytes, kPayloadBytes, kSegments } of = Of::kFrameBytes;
    std::uint32_t right = 0;  // the number of right frames that is nearest to it
    std::uint32_t wrong = 0;  // and of wrong ones
    bool above() const { return wrong > right; }
};

struct Description {
    std::string text;                  // "frames of more than 1514 bytes, VLAN one"; "all frames"
    std::optional<Border> border;      // where it speaks of a number
    std::string common;                // what else all wrong frames are: "VLAN one"; empty: nothing
    std::size_t counter_examples = 0;  // right frames that it fits all the same
    std::string counter_example;       // one of them

    // "frames of more than 1514 bytes (all of them: VLAN one)".
    std::string with_common() const {
        return common.empty() ? text : text + " (all of them: " + common + ")";
    }
};

// The fewest conditions, a number, an odd or even length or values of one dimension each, that fit
// every wrong sample and as few right ones as can be; of equally good ones the plainer. Conditions
// that would do as well are named.
Description separate(std::span<const Sample> samples);

}  // namespace pathproof::truth
