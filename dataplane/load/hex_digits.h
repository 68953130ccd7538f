// Pairs of lower-case hexadecimal digits, as they lie in memory, so that they can be stored and
// summed as one word.
#pragma once

#include <array>
#include <cstdint>

namespace pathproof::load {

constexpr std::array<std::uint16_t, 256> hex_pairs() {
    constexpr char kDigits[] = "0123456789abcdef";
    std::array<std::uint16_t, 256> pairs{};
    for (unsigned value = 0; value < pairs.size(); ++value) {
        pairs[value] = static_cast<std::uint16_t>(kDigits[value >> 4] | kDigits[value & 15] << 8);
    }
    return pairs;
}
inline constexpr std::array<std::uint16_t, 256> kHexPairs = hex_pairs();

}  // namespace pathproof::load
