#include "dataplane/judge/quick_sum.h"

#include <immintrin.h>

namespace pathproof::judge {
namespace {

// Both ways sum blocks of so many bytes.
constexpr std::size_t kBlock = 64;

// A lane of 32 bits holds the sums of as many words as a frame can have. The sum of the lower
// halves needs no mask: it is what is left of the sum of whole lanes when the upper halves, summed
// by themselves, are taken off; modulo 2^32 that is exact.
std::uint64_t add_lanes(const std::uint32_t* whole, const std::uint32_t* upper,
                        std::size_t lanes) noexcept {
    std::uint64_t sum = 0;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        sum += std::uint64_t{whole[lane] - (upper[lane] << 16)} + upper[lane];
    }
    return sum;
}

__attribute__((target("avx2"))) std::uint64_t sum_avx2(const std::uint8_t* at,
                                                       std::size_t blocks) noexcept {
    __m256i whole = _mm256_setzero_si256();
    __m256i upper = _mm256_setzero_si256();
    __m256i whole_too = _mm256_setzero_si256();
    __m256i upper_too = _mm256_setzero_si256();
    for (const std::uint8_t* const end = at + blocks * kBlock; at != end; at += kBlock) {
        const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(at));
        const __m256i more = _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(at + 32));
        whole = _mm256_add_epi32(whole, words);
        upper = _mm256_add_epi32(upper, _mm256_srli_epi32(words, 16));
        whole_too = _mm256_add_epi32(whole_too, more);
        upper_too = _mm256_add_epi32(upper_too, _mm256_srli_epi32(more, 16));
    }
    whole = _mm256_add_epi32(whole, whole_too);
    upper = _mm256_add_epi32(upper, upper_too);
    const __m256i lower = _mm256_sub_epi32(whole, _mm256_slli_epi32(upper, 16));
    // The sums need 64-bit lanes: two of 32 bits together need not fit 32.
    const __m256i low_half = _mm256_set1_epi64x(0xffffffff);
    const __m256i wide = _mm256_add_epi64(
        _mm256_add_epi64(_mm256_and_si256(lower, low_half), _mm256_srli_epi64(lower, 32)),
        _mm256_add_epi64(_mm256_and_si256(upper, low_half), _mm256_srli_epi64(upper, 32)));
    const __m128i two =
        _mm_add_epi64(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
    return static_cast<std::uint64_t>(_mm_cvtsi128_si64(two)) +
           static_cast<std::uint64_t>(_mm_extract_epi64(two, 1));
}

std::uint64_t sum_sse(const std::uint8_t* at, std::size_t blocks) noexcept {
    __m128i whole = _mm_setzero_si128();
    __m128i upper = _mm_setzero_si128();
    for (const std::uint8_t* const end = at + blocks * kBlock; at != end; at += 16) {
        const __m128i words = _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(at));
        whole = _mm_add_epi32(whole, words);
        upper = _mm_add_epi32(upper, _mm_srli_epi32(words, 16));
    }
    alignas(16) std::uint32_t lanes[2][4];
    _mm_store_si128(reinterpret_cast<__m128i*>(lanes[0]), whole);
    _mm_store_si128(reinterpret_cast<__m128i*>(lanes[1]), upper);
    return add_lanes(lanes[0], lanes[1], 4);
}

using SumBlocks = std::uint64_t (*)(const std::uint8_t*, std::size_t) noexcept;

SumBlocks widest() noexcept {
    return __builtin_cpu_supports("avx2") != 0 ? sum_avx2 : sum_sse;
}

const SumBlocks sum_blocks = widest();

}  // namespace

std::uint64_t long_sum(const std::uint8_t* at, std::size_t bytes) noexcept {
    // The last bytes are left to the short way, which wants 8 at least.
    const std::size_t blocks = (bytes - 8) / kBlock;
    const std::size_t done = blocks * kBlock;
    return add_around(sum_blocks(at, blocks), short_sum(at + done, bytes - done));
}

}  // namespace pathproof::judge
