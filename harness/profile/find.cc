#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "harness/profile/profile.h"

namespace pathproof::profile {

namespace fs = std::filesystem;

std::string profile_directory() {
    if (const char* named = std::getenv("PATHPROOF_PROFILES"); named != nullptr && *named != '\0') {
        return named;
    }
    std::error_code ignored;
    return fs::is_directory(PATHPROOF_PROFILE_DIR, ignored) ? PATHPROOF_PROFILE_DIR
                                                            : PATHPROOF_PROFILE_INSTALLED;
}

Result<std::vector<Profile>> load_all(const std::string& directory) {
    std::error_code wrong;
    std::vector<std::string> paths;
    for (const auto& entry : fs::directory_iterator(directory, wrong)) {
        if (entry.path().extension() == ".toml") {
            paths.push_back(entry.path());
        }
    }
    if (wrong) {
        return fail(ErrorCode::kNotFound,
                    "cannot list the profiles in {}: {}; PATHPROOF_PROFILES names another folder",
                    directory, wrong.message());
    }
    std::vector<Profile> profiles;
    for (const std::string& path : paths) {
        auto profile = load_profile(path);
        if (!profile) {
            return pass_on(profile.error());
        }
        profiles.push_back(std::move(*profile));
    }
    std::sort(profiles.begin(), profiles.end(),
              [](const Profile& a, const Profile& b) { return a.id < b.id; });
    return profiles;
}

Result<Profile> find_profile(const std::string& directory, const std::string& id) {
    auto profiles = load_all(directory);
    if (!profiles) {
        return pass_on(profiles.error());
    }
    std::vector<std::string> ids;
    for (Profile& profile : *profiles) {
        if (profile.id == id) {
            return std::move(profile);
        }
        ids.push_back(profile.id);
    }
    return fail(ErrorCode::kNotFound, "there is no profile '{}' in {}; there are: {}", id,
                directory, ids.empty() ? "none" : fmt::format("{}", fmt::join(ids, ", ")));
}

}  // namespace pathproof::profile
