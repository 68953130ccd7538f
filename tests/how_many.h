// Number of values that a test tries, where more values prove more.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>

namespace pathproof::test {

// `daily`, or PATHPROOF_TIMES as many: 30 for a release. A twentieth under sanitizers, which look at
// how values are handled and not at what comes of them.
inline std::size_t how_many(std::size_t daily) {
#if defined(__SANITIZE_ADDRESS__)
    constexpr double kShare = 0.05;
#elif defined(__has_feature)
    constexpr double kShare = __has_feature(address_sanitizer) ? 0.05 : 1;
#else
    constexpr double kShare = 1;
#endif
    const char* times = std::getenv("PATHPROOF_TIMES");
    const double wanted =
        static_cast<double>(daily) * (times == nullptr ? kShare : std::atof(times));
    return std::max<std::size_t>(1, static_cast<std::size_t>(wanted));
}

}  // namespace pathproof::test
