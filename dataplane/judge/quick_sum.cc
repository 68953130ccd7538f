#include "dataplane/judge/quick_sum.h"

#include <immintrin.h>

namespace pathproof::judge {
namespace {

// 32 bits hold 2^16 words of 16 bits; no frame has as many in one lane.
constexpr std::size_t kBlock = 32;

// The lower halves of 32-bit lanes need no mask: their sum is what is left of the sum of whole
// lanes when the upper halves, summed by themselves, are taken off; modulo 2^32 that is exact.
std::uint64_t halves(std::uint64_t whole, std::uint64_t upper) noexcept {
    const std::uint64_t lower = (whole - (upper << 16)) & 0xffffffff;
    return lower + (upper << 16);
}

std::uint64_t add_lanes(const std::uint32_t (&whole)[8], const std::uint32_t (&upper)[8]) noexcept {
    std::uint64_t sum = 0;
    for (std::size_t lane = 0; lane < 8; ++lane) {
        sum += halves(whole[lane], upper[lane]);
    }
    return sum;
}

__attribute__((target("avx2"))) std::uint64_t sum_avx2(const std::uint8_t* at,
                                                       std::size_t blocks) noexcept {
    __m256i whole[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    __m256i upper[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    for (std::size_t block = 0; block < blocks; ++block) {
        const __m256i words =
            _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(at + block * kBlock));
        whole[block % 2] = _mm256_add_epi32(whole[block % 2], words);
        upper[block % 2] = _mm256_add_epi32(upper[block % 2], _mm256_srli_epi32(words, 16));
    }
    alignas(32) std::uint32_t lanes[2][8];
    _mm256_store_si256(reinterpret_cast<__m256i*>(lanes[0]), _mm256_add_epi32(whole[0], whole[1]));
    _mm256_store_si256(reinterpret_cast<__m256i*>(lanes[1]), _mm256_add_epi32(upper[0], upper[1]));
    return add_lanes(lanes[0], lanes[1]);
}

std::uint64_t sum_sse(const std::uint8_t* at, std::size_t blocks) noexcept {
    __m128i whole[2] = {_mm_setzero_si128(), _mm_setzero_si128()};
    __m128i upper[2] = {_mm_setzero_si128(), _mm_setzero_si128()};
    for (std::size_t half = 0; half < 2 * blocks; ++half) {
        const __m128i words = _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(at + half * 16));
        whole[half % 2] = _mm_add_epi32(whole[half % 2], words);
        upper[half % 2] = _mm_add_epi32(upper[half % 2], _mm_srli_epi32(words, 16));
    }
    alignas(16) std::uint32_t lanes[2][8];
    for (std::size_t half = 0; half < 2; ++half) {
        _mm_store_si128(reinterpret_cast<__m128i*>(&lanes[0][4 * half]), whole[half]);
        _mm_store_si128(reinterpret_cast<__m128i*>(&lanes[1][4 * half]), upper[half]);
    }
    return add_lanes(lanes[0], lanes[1]);
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
