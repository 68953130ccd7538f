// Accounts for the numbered frames of one stream in fixed memory: which came, which came twice, and
// which came after a later one and how far behind (RFC 4737). Remembers the last 2^21 numbers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

namespace pathproof::judge {

struct SequenceTotals {
    std::uint64_t unique = 0;  // different numbers seen
    std::uint64_t duplicates = 0;
    std::uint64_t reordered = 0;  // of the unique ones: came after a later one
    std::uint64_t too_old = 0;    // further behind than is remembered: new or duplicate, unknown
    std::uint64_t highest = 0;    // 1 + the highest number seen, unwrapped to 64 bits
    std::uint32_t furthest = 0;   // greatest distance behind the highest, in frames
    std::array<std::uint64_t, 22>
        distance{};  // reordered by distance: 1, 2-3, 4-7, ... 2^20 and more
};

}  // namespace pathproof::judge
