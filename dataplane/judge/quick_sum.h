// One's-complement sums for the data path (RFC 1071), in words of 64 bits: 2^64 - 1 is a multiple
// of 2^16 - 1, so that end-around carries of 64 bits keep the sum of 16-bit words. A sum is 0 only
// of data that are all 0. No byte beyond what is given is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace pathproof::judge {

template <typename T>
inline T load(const std::uint8_t* at) noexcept {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

inline std::uint64_t add_around(std::uint64_t a, std::uint64_t b) noexcept {
    const std::uint64_t sum = a + b;
    return sum + (sum < a ? 1 : 0);
}

// Returns whether the 16-bit one's-complement sum is 0xffff, as it is for data that contain their
// right checksum. The product with the inverse of 0xffff modulo 2^64 is small for its multiples
// alone.
inline bool multiple_of_ones(std::uint64_t sum) noexcept {
    constexpr std::uint64_t kQuotients = 0x0001'0001'0001'0001;
    return sum * (0 - kQuotients) <= kQuotients;
}
inline bool sums_up(std::uint64_t sum) noexcept {
    return multiple_of_ones(sum) && sum != 0;
}

// Sums more than kShort bytes, with the widest registers that this CPU has.
std::uint64_t long_sum(const std::uint8_t* at, std::size_t bytes) noexcept;

inline constexpr std::size_t kShort = 128;

// `at` is an even place of what is summed. At least 8 bytes.
inline std::uint64_t short_sum(const std::uint8_t* at, std::size_t bytes) noexcept {
    // Two sums, so that an addition need not wait for the carry of the one before.
    std::uint64_t even = 0;
    std::uint64_t odd = 0;
    const std::uint8_t* const end = at + bytes;
    for (; end - at >= 32; at += 32) {
        even = add_around(even, load<std::uint64_t>(at));
        odd = add_around(odd, load<std::uint64_t>(at + 8));
        even = add_around(even, load<std::uint64_t>(at + 16));
        odd = add_around(odd, load<std::uint64_t>(at + 24));
    }
    if (end - at >= 16) {
        even = add_around(even, load<std::uint64_t>(at));
        odd = add_around(odd, load<std::uint64_t>(at + 8));
        at += 16;
    }
    if (end - at >= 8) {
        even = add_around(even, load<std::uint64_t>(at));
        at += 8;
    }
    if (end != at) {
        // The last word ends where the data end; what was summed already is shifted out.
        odd = add_around(
            odd, load<std::uint64_t>(end - 8) >> (64 - 8 * static_cast<unsigned>(end - at)));
    }
    return add_around(even, odd);
}

inline std::uint64_t quick_sum(const std::uint8_t* at, std::size_t bytes) noexcept {
    return bytes <= kShort ? short_sum(at, bytes) : long_sum(at, bytes);
}

}  // namespace pathproof::judge
