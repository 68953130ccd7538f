// Order in which the parts of a mix take turns: each as evenly spread as its share allows, the
// whole worked out before anything is sent.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/base/result.h"

namespace pathproof::load {

struct MixShare {
    std::uint32_t weight = 1;         // share of the frames
    std::uint8_t frames_at_once = 1;  // 2: the two of a pair
};

// A number of successive frames of one part.
struct MixRun {
    std::uint8_t part = 0;
    std::uint32_t frames = 0;
    bool operator==(const MixRun&) const = default;
};

// Smooth weighted round robin (as nginx's upstream module has it) over one period, in which every
// part has exactly its share of the frames. Errors (kBadInput): no part, more than 255, a weight of
// 0, weights whose period is longer than 100,000 frames.
Result<std::vector<MixRun>> mix_pattern(std::span<const MixShare> shares);

}  // namespace pathproof::load
