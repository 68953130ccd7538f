// Versions of kernels and of DPDK, and the spans of them in which something holds.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pathproof::profile {

// "6.1.0-13-amd64" is 6.1.0, "5.7" is 5.7.0, DPDK's "24.11.1" is 24.11.1.
struct Version {
    unsigned major = 0;
    unsigned minor = 0;
    unsigned patch = 0;
    auto operator<=>(const Version&) const = default;
};

// The leading numbers of a version or of `uname -r`; nothing when it does not begin with two.
std::optional<Version> parse_version(std::string_view text);
std::string to_text(const Version& version);  // "5.7", "5.4.41", "24.07"

// From `from` (included; unset: from the beginning) to `fixed_in` (excluded; unset: no fix is
// known). A repair that was carried to a stable series ends the span there as well.
struct VersionRange {
    std::optional<Version> from;
    std::optional<Version> fixed_in;
    std::vector<Version> backports;  // "5.4.41": that series has it from there on

    bool operator==(const VersionRange&) const = default;
    bool contains(const Version& version) const;
    bool everything() const { return !from && !fixed_in; }
};

// "before 5.7 (and 5.4.41, 4.19.123)", "5.1 to before 5.7", "from 5.1", "all versions".
std::string to_text(const VersionRange& range);

}  // namespace pathproof::profile
