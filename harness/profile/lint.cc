#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <set>

#include "dataplane/base/contains.h"
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

// Every way in which a device could be found to match: a driver, with each PCI id where ids are
// given, for drivers serve several devices and several drivers serve one.
std::vector<std::string> keys_of(const Match& match) {
    std::vector<std::string> drivers;
    for (const std::string& driver : match.kernel_driver) {
        drivers.push_back("kernel_driver " + driver);
    }
    for (const std::string& pmd : match.pmd) {
        drivers.push_back("pmd " + pmd);
    }
    if (match.pci.empty()) {
        return drivers;
    }
    std::vector<std::string> keys;
    for (const std::string& pci : match.pci) {
        keys.insert(keys.end(), drivers.empty(), "pci " + pci);
        for (const std::string& driver : drivers) {
            keys.push_back(driver + ", pci " + pci);
        }
    }
    return keys;
}

template <typename Claim>
void note(std::set<std::string>& named, const std::vector<Claim>& claims) {
    for (const Claim& claim : claims) {
        named.insert(claim.source);
    }
}

void check_sources(const Profile& profile, Complaints& found) {
    std::set<std::string> named{profile.match.source};
    for (const auto* claims : {&profile.offloads, &profile.dpdk_tx, &profile.dpdk_rx}) {
        note(named, *claims);
    }
    note(named, profile.limits);
    note(named, profile.dpdk_limits);
    note(named, profile.tunnels);
    note(named, profile.quirks);
    if (profile.link) {
        named.insert(profile.link->source);
    }
    for (const auto& [key, text] : profile.sources) {
        if (!named.contains(key)) {
            found.push_back(fmt::format("{}: nothing names source '{}'", profile.file, key));
        }
    }
}

}  // namespace

std::vector<std::string> lint(const std::vector<Profile>& profiles) {
    Complaints found;
    std::map<std::string, std::string> ids;
    std::map<std::string, std::string> matches;
    for (const Profile& profile : profiles) {
        check_one(profile, found);
        check_sources(profile, found);
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

std::vector<std::string> lint_errata(const std::vector<Profile>& profiles,
                                     const std::vector<std::string>& known) {
    Complaints found;
    for (const Profile& profile : profiles) {
        std::vector<std::string> named = profile.errata;
        for (const auto* claims : {&profile.offloads, &profile.dpdk_tx, &profile.dpdk_rx}) {
            for (const OffloadExpectation& claim : *claims) {
                named.push_back(claim.erratum);
            }
        }
        for (const Quirk& quirk : profile.quirks) {
            named.push_back(quirk.erratum);
        }
        for (const std::string& id : named) {
            if (!id.empty() && !contains(known, id)) {
                found.push_back(fmt::format("{}: there is no erratum '{}'", profile.file, id));
            }
        }
    }
    return found;
}

}  // namespace pathproof::profile
