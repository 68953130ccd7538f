// Units of figures and limits, and how one becomes the other.
#pragma once

#include <optional>
#include <string>

namespace pathproof::acceptance {

// The number of `to` in one of `from`: from "ms" to "us" 1000. Nothing: they measure different things, or one
// of them is no unit that is known. Any unit is itself.
std::optional<double> factor(const std::string& from, const std::string& to);

}  // namespace pathproof::acceptance
