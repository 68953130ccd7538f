// Checks of typed numbers whose texts are fit to be read.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <string>

#include "dataplane/base/number.h"

namespace pathproof::cli {

// Refuses a text that is not `right`: "'x' is not a number above 0".
template <typename Right>
CLI::Validator check_of(const std::string& what, const std::string& type, Right right) {
    return CLI::Validator(
        [=](std::string& text) {
            return right(text) ? std::string() : fmt::format("'{}' is not {}", text, what);
        },
        type);
}

// CLI::PositiveNumber says it with the 308 digits of the largest double.
inline const CLI::Validator kAboveZero =
    check_of("a number above 0", "NUMBER > 0", [](const std::string& text) {
        double value = 0;
        return CLI::detail::lexical_cast(text, value) && value > 0 && std::isfinite(value);
    });

// CLI::Range lets "nan" pass.
inline CLI::Validator number_in(double least, double most) {
    const std::string range = fmt::format("{:.15g} to {:.15g}", least, most);
    return check_of("a number from " + range, "NUMBER " + range, [=](const std::string& text) {
        double value = 0;
        return CLI::detail::lexical_cast(text, value) && value >= least && value <= most;
    });
}

// CLI takes "-1" for a huge unsigned number and "010" for 8, and tells of one that is too large in
// no words.
inline bool is_whole(const std::string& text, std::uint64_t least, std::uint64_t most) {
    const auto value = whole_number<std::uint64_t>(text);
    const bool octal = text.size() > 1 && text[0] == '0';
    return value && !octal && *value >= least && *value <= most;
}

inline CLI::Validator whole(std::uint64_t least, std::uint64_t most, const std::string& what,
                            const std::string& type) {
    return check_of(what, type,
                    [=](const std::string& text) { return is_whole(text, least, most); });
}
inline CLI::Validator whole(std::uint64_t least, std::uint64_t most) {
    const std::string range = fmt::format("{} to {}", least, most);
    return whole(least, most, "a whole number of " + range, range);
}

inline const CLI::Validator kPositive =
    whole(1, UINT64_MAX, "a whole number above 0", "NUMBER > 0");
// 0 or more.
inline const CLI::Validator kWhole = whole(0, UINT64_MAX, "a whole number", "NUMBER");
// Numbers that `--cpu` takes: far more than any machine has. Whether the CPU is there is checked
// later.
inline const CLI::Validator kCpu = whole(0, 65'535, "the number of a CPU", "CPU");
inline const CLI::Validator kUdpPort = whole(1, 65'535);

}  // namespace pathproof::cli
