// Frame sizes and rates of Ethernet, as RFC 2544 has them: sizes count the FCS.
#pragma once

#include <array>
#include <cstdint>

namespace pathproof::search {

// RFC 2544, 9.1.
inline constexpr std::array<std::uint16_t, 7> kFrameSizes = {64, 128, 256, 512, 1024, 1280, 1518};

inline constexpr unsigned kFcsBytes = 4;
// Preamble, start delimiter and the gap between frames.
inline constexpr unsigned kOverheadBytes = 20;

// Frames per second that a link carries at most.
constexpr double line_rate_pps(double bits_per_second, unsigned size_with_fcs) {
    return bits_per_second / (8.0 * (size_with_fcs + kOverheadBytes));
}

}  // namespace pathproof::search
