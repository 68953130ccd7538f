// Lower-case hexadecimal digits as they lie in memory: pairs of them to be stored and summed as one
// word, and sixteen read at once.
#pragma once

#include <smmintrin.h>

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

// Sixteen lower-case hexadecimal digits as eight bytes in the order of the digits. False: one of
// them is no such digit.
inline bool read_digits(__m128i text, std::uint64_t& bytes) noexcept {
    const __m128i all = _mm_setr_epi8('0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b',
                                      'c', 'd', 'e', 'f');
    const __m128i letter = _mm_cmpgt_epi8(text, _mm_set1_epi8('9'));
    const __m128i value = _mm_add_epi8(_mm_and_si128(text, _mm_set1_epi8(0x0f)),
                                       _mm_and_si128(letter, _mm_set1_epi8(9)));
    const __m128i wrong = _mm_xor_si128(_mm_shuffle_epi8(all, value), text);
    const __m128i pairs = _mm_maddubs_epi16(value, _mm_set1_epi16(0x0110));
    bytes = static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_packus_epi16(pairs, pairs)));
    return _mm_testz_si128(wrong, wrong) != 0;
}

}  // namespace pathproof::load
