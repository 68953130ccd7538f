// The wall clock, as reports and events state it.
#pragma once

#include <array>
#include <cstdint>
#include <ctime>
#include <string>

namespace pathproof {

// Nanoseconds since 1970 (CLOCK_REALTIME, which can be set while a program runs).
inline std::int64_t realtime_ns() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// ISO 8601 to the second: 2026-01-31T23:59:59Z.
inline std::string utc_now() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    std::array<char, 32> text{};
    std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text.data();
}

// 2026-01-31.
inline std::string today_utc() {
    return utc_now().substr(0, 10);
}

}  // namespace pathproof
