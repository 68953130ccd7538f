#include "harness/profile/compare.h"

#include <fmt/format.h>

#include <algorithm>

namespace pathproof::profile {
namespace {

using agent::Feature;

// On, or within the user's power to turn on: what ethtool(8) does not mark [fixed] when off.
bool offered(const Feature& feature) {
    return feature.active || (feature.available && !feature.never_changed);
}

std::string state_of(const Feature* feature) {
    if (feature == nullptr) {
        return "not known to this kernel";
    }
    const bool fixed = !feature->available || feature->never_changed;
    return fmt::format("{}{}", feature->active ? "on" : "off", fixed ? " [fixed]" : "");
}

std::string wish_of(const OffloadExpectation& expectation) {
    if (!expectation.on_by_default) {
        return name(expectation.expect);
    }
    return fmt::format("{}, {} by default", name(expectation.expect),
                       *expectation.on_by_default ? "on" : "off");
}

Finding::Kind judge(const OffloadExpectation& expectation, const Feature* feature) {
    const bool there = feature != nullptr && offered(*feature);
    if (expectation.expect == Expectation::kRequired && !there) {
        return Finding::Kind::kMissing;
    }
    if (expectation.expect == Expectation::kAbsent && there) {
        return Finding::Kind::kUnexpected;
    }
    if (there && expectation.on_by_default && *expectation.on_by_default != feature->active) {
        return Finding::Kind::kOtherDefault;
    }
    return Finding::Kind::kAsExpected;
}

const Feature* find(const std::vector<Feature>& features, const std::string& wanted) {
    const auto found = std::find_if(features.begin(), features.end(),
                                    [&](const Feature& feature) { return feature.name == wanted; });
    return found == features.end() ? nullptr : &*found;
}

bool lists(const Profile& profile, const std::string& feature) {
    return std::any_of(
        profile.offloads.begin(), profile.offloads.end(),
        [&](const OffloadExpectation& expectation) { return expectation.name == feature; });
}

}  // namespace

const char* name(Finding::Kind kind) {
    switch (kind) {
        case Finding::Kind::kAsExpected:
            return "ok";
        case Finding::Kind::kMissing:
            return "MISSING";
        case Finding::Kind::kUnexpected:
            return "UNEXPECTED";
        case Finding::Kind::kOtherDefault:
            return "other default";
        case Finding::Kind::kUnlisted:
            return "unlisted";
    }
    return "ok";
}

std::vector<Finding> compare(const Profile& profile, const std::vector<Feature>& features) {
    std::vector<Finding> findings;
    for (const OffloadExpectation& expectation : profile.offloads) {
        const Feature* feature = find(features, expectation.name);
        findings.push_back({.kind = judge(expectation, feature),
                            .feature = expectation.name,
                            .expected = wish_of(expectation),
                            .found = state_of(feature),
                            .why = expectation.why});
    }
    for (const Feature& feature : features) {
        if (offered(feature) && !lists(profile, feature.name)) {
            findings.push_back({.kind = Finding::Kind::kUnlisted,
                                .feature = feature.name,
                                .expected = "not listed",
                                .found = state_of(&feature)});
        }
    }
    return findings;
}

bool agrees(const std::vector<Finding>& findings) {
    return std::none_of(findings.begin(), findings.end(), [](const Finding& finding) {
        return finding.kind == Finding::Kind::kMissing ||
               finding.kind == Finding::Kind::kUnexpected;
    });
}

}  // namespace pathproof::profile
