#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "harness/profile/profile.h"

namespace pathproof::profile {
namespace {

using Complaints = std::vector<std::string>;

void check_one(const Profile& profile, Complaints& found) {
    if (std::filesystem::path(profile.file).stem() != profile.id) {
        found.push_back(
            fmt::format("{}: id '{}' is not the name of the file", profile.file, profile.id));
    }
    if (profile.maturity == Maturity::kVerified && profile.provenance.reports.empty()) {
        found.push_back(fmt::format(
            "{}: a verified profile names its reports in provenance.reports", profile.file));
    }
}

// Every way in which a device could be found to match, as one word each.
std::vector<std::string> keys_of(const Match& match) {
    std::vector<std::string> keys;
    for (const std::string& driver : match.kernel_driver) {
        // Drivers serve several devices: with PCI ids given, those decide.
        if (match.pci.empty()) {
            keys.push_back("kernel_driver " + driver);
        }
    }
    for (const std::string& pci : match.pci) {
        keys.push_back("pci " + pci);
    }
    for (const std::string& pmd : match.pmd) {
        if (match.pci.empty()) {
            keys.push_back("pmd " + pmd);
        }
    }
    return keys;
}

}  // namespace

std::vector<std::string> lint(const std::vector<Profile>& profiles) {
    Complaints found;
    std::map<std::string, std::string> ids;
    std::map<std::string, std::string> matches;
    for (const Profile& profile : profiles) {
        check_one(profile, found);
        if (const auto [other, first] = ids.emplace(profile.id, profile.file); !first) {
            found.push_back(fmt::format("{}: id '{}' stands in {} too", profile.file, profile.id,
                                        other->second));
        }
        for (const std::string& key : keys_of(profile.match)) {
            if (const auto [other, first] = matches.emplace(key, profile.file); !first) {
                found.push_back(
                    fmt::format("{}: {} matches {} too", profile.file, key, other->second));
            }
        }
    }
    return found;
}

}  // namespace pathproof::profile
