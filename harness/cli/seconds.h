// Typed seconds as clocks count them.
#pragma once

#include <algorithm>
#include <chrono>

namespace pathproof::cli {

// Half the way to where 64 bits of nanoseconds end, 126 years, stands for all that is longer: it
// can be added to any clock's time.
inline std::chrono::nanoseconds nanoseconds_of(double seconds) {
    constexpr double kLongest = 4e9;
    return std::chrono::nanoseconds(
        static_cast<std::chrono::nanoseconds::rep>(std::min(seconds, kLongest) * 1e9));
}

}  // namespace pathproof::cli
