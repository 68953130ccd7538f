// Sentences of parts, of which some may be empty.
#pragma once

#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "harness/profile/version_range.h"

namespace pathproof::cli::profiles {

// "82576 and later; because; E34-...": those that are not empty.
inline std::string joined(std::vector<std::string> parts) {
    std::erase(parts, "");
    return fmt::format("{}", fmt::join(parts, "; "));
}

// "Linux from 5.1"; empty for all versions.
inline std::string span_of(const char* product, const profile::VersionRange& range) {
    return range.everything() ? "" : fmt::format("{} {}", product, to_text(range));
}

}  // namespace pathproof::cli::profiles
