// Checks of typed numbers whose texts are fit to be read.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>

namespace pathproof::cli {

// CLI::PositiveNumber says it with the 308 digits of the largest double.
inline const CLI::Validator kAboveZero(
    [](std::string& text) {
        double value = 0;
        const bool right =
            CLI::detail::lexical_cast(text, value) && value > 0 && std::isfinite(value);
        return right ? std::string() : fmt::format("'{}' is not a number above 0", text);
    },
    "NUMBER > 0");

// CLI::Range lets "nan" pass.
inline CLI::Validator number_in(double least, double most) {
    const std::string range = fmt::format("{:.15g} to {:.15g}", least, most);
    return CLI::Validator(
        [=](std::string& text) {
            double value = 0;
            const bool right =
                CLI::detail::lexical_cast(text, value) && value >= least && value <= most;
            return right ? std::string() : fmt::format("'{}' is not a number from {}", text, range);
        },
        fmt::format("NUMBER {}", range));
}

// CLI takes "-1" for a huge unsigned number and "010" for 8, and tells of one that is too large in
// no words.
inline bool is_whole(const std::string& text, std::uint64_t least, std::uint64_t most) {
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, wrong] = std::from_chars(text.data(), end, value);
    const bool octal = text.size() > 1 && text[0] == '0';
    return wrong == std::errc() && stop == end && !octal && value >= least && value <= most;
}

inline const CLI::Validator kPositive(
    [](std::string& text) {
        return is_whole(text, 1, UINT64_MAX)
                   ? std::string()
                   : fmt::format("'{}' is not a whole number above 0", text);
    },
    "NUMBER > 0");

// 0 or more.
inline const CLI::Validator kWhole(
    [](std::string& text) {
        return is_whole(text, 0, UINT64_MAX) ? std::string()
                                             : fmt::format("'{}' is not a whole number", text);
    },
    "NUMBER");

inline CLI::Validator whole(std::uint64_t least, std::uint64_t most) {
    return CLI::Validator(
        [least, most](std::string& text) {
            return is_whole(text, least, most)
                       ? std::string()
                       : fmt::format("'{}' is not a whole number of {} to {}", text, least, most);
        },
        fmt::format("{} to {}", least, most));
}

// What `--cpu` takes: far more than any machine has; which of them are there is asked later.
inline const CLI::Validator kCpu(
    [](std::string& text) {
        return is_whole(text, 0, 65'535) ? std::string()
                                         : fmt::format("'{}' is not the number of a CPU", text);
    },
    "CPU");

inline const CLI::Validator kUdpPort = whole(1, 65'535);

}  // namespace pathproof::cli
