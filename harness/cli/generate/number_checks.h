// Checks of typed numbers whose texts are fit to be read.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
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

// CLI takes "-1" for a huge unsigned number.
inline const CLI::Validator kPositive(
    [](std::string& text) {
        std::uint64_t value = 0;
        const bool right = !text.empty() && text.find('-') == text.npos &&
                           CLI::detail::lexical_cast(text, value) && value > 0;
        return right ? std::string() : fmt::format("'{}' is not a whole number above 0", text);
    },
    "NUMBER > 0");

}  // namespace pathproof::cli
