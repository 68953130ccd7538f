// The shortest description that separates wrong frames from right ones.
#pragma once

#include <cstdint>
#include <functional>
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
    std::uint32_t last_segment = 0;   // bytes of data in it; 0: it is no super-frame
    bool wrong = false;
};
Sample sample_of(const matrix::Row& row, const matrix::Probe& probe, bool wrong);

// A number that separates: wrong frames have more (or at least) so much, right ones at most.
struct Border {
    enum class Of : std::uint8_t {
        kFrameBytes,
        kPayloadBytes,
        kSegments,
        kLastSegment,  // bytes of data in a super-frame's last segment
    } of = Of::kFrameBytes;
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

// A choice that the samples leave open: a condition and another one that fit the same of them, or a value
// that all wrong ones share.
struct OpenChoice {
    std::string between;                       // "VLAN one; more than 1472 bytes of data"
    std::function<bool(const Sample&)> tells;  // a frame that belongs to one of the two alone
};
// Returns the choices that separate()'s description leaves open. A sample that tells, wrong or right,
// closes its choice.
std::vector<OpenChoice> open_choices(std::span<const Sample> samples);

}  // namespace pathproof::truth
