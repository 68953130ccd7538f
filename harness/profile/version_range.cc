#include "harness/profile/version_range.h"

#include <fmt/format.h>

#include <algorithm>

#include "dataplane/base/join_each.h"
#include "dataplane/base/number.h"

namespace pathproof::profile {
namespace {

bool take_dot(std::string_view& text) {
    if (text.empty() || text.front() != '.') {
        return false;
    }
    text.remove_prefix(1);
    return true;
}

}  // namespace

std::optional<Version> parse_version(std::string_view text) {
    const auto major = take_number<unsigned>(text);
    if (!major || !take_dot(text)) {
        return std::nullopt;
    }
    const auto minor = take_number<unsigned>(text);
    if (!minor) {
        return std::nullopt;
    }
    const unsigned patch = take_dot(text) ? take_number<unsigned>(text).value_or(0) : 0;
    return Version{*major, *minor, patch};
}

std::string to_text(const Version& version) {
    // DPDK is numbered by year and month since 16.04; Linux is far from that.
    constexpr unsigned kFirstYear = 16;
    const std::string release = version.major < kFirstYear
                                    ? fmt::format("{}.{}", version.major, version.minor)
                                    : fmt::format("{}.{:02}", version.major, version.minor);
    return version.patch == 0 ? release : fmt::format("{}.{}", release, version.patch);
}

bool VersionRange::contains(const Version& version) const {
    const auto mended_by = [&](const Version& repaired) {
        return version.major == repaired.major && version.minor == repaired.minor &&
               version.patch >= repaired.patch;
    };
    return (!from || version >= *from) && (!fixed_in || version < *fixed_in) &&
           std::ranges::none_of(backports, mended_by);
}

std::string to_text(const VersionRange& range) {
    std::string text = "all versions";
    if (range.from && range.fixed_in) {
        text = fmt::format("{} to before {}", to_text(*range.from), to_text(*range.fixed_in));
    } else if (range.from) {
        text = fmt::format("from {}", to_text(*range.from));
    } else if (range.fixed_in) {
        text = fmt::format("before {}", to_text(*range.fixed_in));
    }
    if (range.backports.empty()) {
        return text;
    }
    return fmt::format("{} (mended in {} too)", text,
                       join_each(range.backports, [](const Version& one) { return to_text(one); }));
}

}  // namespace pathproof::profile
