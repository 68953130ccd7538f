#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "harness/profile/lists.h"
#include "harness/profile/profile.h"
#include "harness/profile/toml_reader.h"

namespace pathproof::profile {

namespace fs = std::filesystem;

std::string profile_directory() {
    if (const char* named = std::getenv("PATHPROOF_PROFILES"); named != nullptr && *named != '\0') {
        return named;
    }
    std::error_code ignored;
    const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
    const fs::path beside = program.parent_path().parent_path() / "share/pathproof/nicprofiles";
    if (fs::is_directory(beside, ignored)) {
        return beside;
    }
    return fs::is_directory(PATHPROOF_PROFILE_DIR, ignored) ? PATHPROOF_PROFILE_DIR
                                                            : PATHPROOF_PROFILE_INSTALLED;
}

Result<std::vector<Profile>> load_each(const std::string& directory, std::vector<Error>& damaged) {
    const auto paths = TRY(toml_files(directory, "profiles"));
    std::vector<Profile> profiles;
    for (const std::string& path : paths) {
        auto profile = load_profile(path);
        if (profile) {
            profiles.push_back(std::move(*profile));
        } else {
            damaged.push_back(profile.error());
        }
    }
    if (paths.empty()) {
        return fail(ErrorCode::kNotFound,
                    "there is no profile in {}; PATHPROOF_PROFILES names another folder",
                    directory);
    }
    std::ranges::sort(profiles, {}, &Profile::id);
    return profiles;
}

Result<std::vector<Profile>> load_all(const std::string& directory) {
    std::vector<Error> damaged;
    auto profiles = load_each(directory, damaged);
    return damaged.empty() ? std::move(profiles) : pass_on(damaged.front());
}

Result<Profile> find_profile(const std::string& directory, const std::string& id) {
    std::vector<Error> damaged;
    auto profiles = TRY(load_each(directory, damaged));
    std::vector<std::string> ids;
    for (Profile& profile : profiles) {
        if (profile.id == id) {
            return std::move(profile);
        }
        ids.push_back(profile.id);
    }
    return fail(
        ErrorCode::kNotFound, "there is no profile '{}' in {}; there are: {}{}", id, directory,
        ids.empty() ? "none" : fmt::format("{}", fmt::join(ids, ", ")),
        damaged.empty() ? "" : "; it may be one that cannot be read: " + damaged.front().message);
}

namespace {

// Rates how well [match] fits: 0 not at all, 2 with the PCI id.
unsigned fit(const Match& match, const DeviceIdentity& device) {
    const bool names_driver = !match.kernel_driver.empty() || !match.pmd.empty();
    const bool driver =
        lists(match.kernel_driver, device.kernel_driver) || lists(match.pmd, device.pmd);
    if (names_driver && !driver) {
        return 0;
    }
    if (lists(match.pci, device.pci)) {
        return 2;
    }
    // An id that is listed nowhere may be a newer card of the same driver; a driver that serves
    // several families (net_e1000_em) is told apart by its ids.
    return driver ? 1 : 0;
}

}  // namespace

Result<Profile> matching_profile(const std::vector<Profile>& profiles,
                                 const DeviceIdentity& device) {
    const auto best = std::ranges::max_element(
        profiles, {}, [&](const Profile& profile) { return fit(profile.match, device); });
    if (best != profiles.end() && fit(best->match, device) > 0) {
        return *best;
    }
    return fail(ErrorCode::kNotFound,
                "no profile is for driver '{}'{}; choose one of 'pathproof profile list' with "
                "--profile, or write one: 'pathproof profile probe' makes a draft",
                device.driver(), device.pci.empty() ? "" : ", PCI id " + device.pci);
}

}  // namespace pathproof::profile
