#include "harness/profile/compare.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/agent/ethtool.h"
#include "harness/profile/lists.h"

namespace pathproof::profile {
namespace {

using agent::Feature;
using Kind = Finding::Kind;

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

enum class Holds { kYes, kNo, kUnknown };

Holds holds(const VersionRange& range, const std::string& running) {
    if (range.everything()) {
        return Holds::kYes;
    }
    const auto version = parse_version(running);
    if (!version) {
        return range.fixed_in ? Holds::kUnknown : Holds::kYes;
    }
    return range.contains(*version) ? Holds::kYes : Holds::kNo;
}

// State of one offload, whichever interface it was read from.
struct Offer {
    bool there = false;  // on, or can be switched on
    bool active = false;
};

Kind judge_broken(const OffloadExpectation& expectation, Offer offer, Holds in_range) {
    if (!offer.active) {
        return Kind::kAsExpected;
    }
    if (in_range == Holds::kNo) {
        return Kind::kExpired;
    }
    const bool sure = in_range == Holds::kYes && expectation.when.empty();
    return sure ? Kind::kBroken : Kind::kMaybeBroken;
}

Kind judge(const OffloadExpectation& expectation, Offer offer, Holds in_range) {
    if (expectation.expect == Expectation::kBroken) {
        return judge_broken(expectation, offer, in_range);
    }
    if (in_range != Holds::kYes) {
        return Kind::kNotJudged;
    }
    // A claim for some of the family's devices cannot be held against the others.
    const bool for_all = expectation.when.empty();
    if (expectation.expect == Expectation::kRequired && !offer.there) {
        return for_all ? Kind::kMissing : Kind::kNotJudged;
    }
    if (expectation.expect == Expectation::kAbsent && offer.there) {
        return for_all ? Kind::kUnexpected : Kind::kNotJudged;
    }
    if (offer.there && expectation.on_by_default && *expectation.on_by_default != offer.active) {
        return Kind::kOtherDefault;
    }
    return Kind::kAsExpected;
}

std::string source_of(const Profile& profile, const std::string& key) {
    const auto found = profile.sources.find(key);
    return found == profile.sources.end() ? "" : found->second;
}

Finding finding_of(const Profile& profile, const OffloadExpectation& expectation, Kind kind,
                   std::string found) {
    return {.kind = kind,
            .feature = expectation.name,
            .expected = wish_of(expectation),
            .found = std::move(found),
            .why = expectation.why,
            .when = expectation.when,
            .erratum = expectation.erratum,
            .source = source_of(profile, expectation.source)};
}

void compare_dpdk_side(const Profile& profile, const char* side,
                       const std::vector<OffloadExpectation>& claims,
                       const std::vector<std::string>& offers, const Running& running,
                       std::vector<Finding>& findings) {
    for (const OffloadExpectation& claim : claims) {
        const bool there = lists(offers, claim.name);
        const Kind kind = judge(claim, {there, there}, holds(claim.dpdk, running.dpdk));
        findings.push_back(finding_of(profile, claim, kind, there ? "offered" : "not offered"));
        findings.back().feature = fmt::format("{} {}", side, claim.name);
    }
    for (const std::string& offer : offers) {
        if (claim_on(claims, offer) == nullptr) {
            findings.push_back({.kind = Kind::kUnlisted,
                                .feature = fmt::format("{} {}", side, offer),
                                .expected = "not listed",
                                .found = "offered"});
        }
    }
}

}  // namespace

bool offered(const Feature& feature) {
    return feature.active || (feature.available && !feature.never_changed);
}

const char* name(Finding::Kind kind) {
    switch (kind) {
        case Kind::kAsExpected: return "ok";
        case Kind::kMissing: return "MISSING";
        case Kind::kUnexpected: return "UNEXPECTED";
        case Kind::kBroken: return "BROKEN";
        case Kind::kMaybeBroken: return "maybe broken";
        case Kind::kExpired: return "expired";
        case Kind::kOtherDefault: return "other default";
        case Kind::kOtherLimit: return "other limit";
        case Kind::kUnlisted: return "unlisted";
        case Kind::kNotJudged: return "not judged";
    }
    return "ok";
}

std::vector<Finding> compare(const Profile& profile, const std::vector<Feature>& features,
                             const Running& running) {
    std::vector<Finding> findings;
    for (const OffloadExpectation& claim : profile.offloads) {
        const Feature* feature = feature_named(features, claim.name);
        const Offer offer{feature != nullptr && offered(*feature),
                          feature != nullptr && feature->active};
        const Kind kind = judge(claim, offer, holds(claim.kernel, running.kernel));
        findings.push_back(finding_of(profile, claim, kind, state_of(feature)));
    }
    for (const Feature& feature : features) {
        if (offered(feature) && claim_on(profile.offloads, feature.name) == nullptr) {
            findings.push_back({.kind = Kind::kUnlisted,
                                .feature = feature.name,
                                .expected = "not listed",
                                .found = state_of(&feature)});
        }
    }
    return findings;
}

std::vector<Finding> compare_dpdk(const Profile& profile, const std::vector<std::string>& tx,
                                  const std::vector<std::string>& rx, const Running& running) {
    std::vector<Finding> findings;
    compare_dpdk_side(profile, "tx", profile.dpdk_tx, tx, running, findings);
    compare_dpdk_side(profile, "rx", profile.dpdk_rx, rx, running, findings);
    return findings;
}

std::vector<Finding> compare_limits(const std::vector<Limit>& limits, const LiveLimits& live) {
    std::vector<Finding> findings;
    for (const Limit& limit : limits) {
        const auto found = live.find(limit.kind);
        Finding finding{.kind = Kind::kNotJudged,
                        .feature = name(limit.kind),
                        .expected = std::to_string(limit.value),
                        .found = "not read",
                        .why = limit.why,
                        .when = limit.when};
        if (found != live.end()) {
            finding.kind = found->second == limit.value ? Kind::kAsExpected : Kind::kOtherLimit;
            finding.found = std::to_string(found->second);
        }
        findings.push_back(std::move(finding));
    }
    return findings;
}

bool agrees(const std::vector<Finding>& findings) {
    return std::ranges::none_of(findings, [](const Finding& finding) {
        return finding.kind == Kind::kMissing || finding.kind == Kind::kUnexpected ||
               finding.kind == Kind::kBroken;
    });
}

const char* name(QuirkState state) {
    switch (state) {
        case QuirkState::kInForce: return "in force";
        case QuirkState::kExpired: return "expired";
        case QuirkState::kNotYet: return "not yet";
        case QuirkState::kUnknown: return "not known";
    }
    return "not known";
}

QuirkState state_of(const Quirk& quirk, const Running& running) {
    const bool by_kernel = !quirk.kernel.everything();
    const VersionRange& range = by_kernel ? quirk.kernel : quirk.dpdk;
    if (range.everything()) {
        return QuirkState::kInForce;
    }
    const auto version = parse_version(by_kernel ? running.kernel : running.dpdk);
    if (!version) {
        return QuirkState::kUnknown;
    }
    if (range.contains(*version)) {
        return QuirkState::kInForce;
    }
    return range.from && *version < *range.from ? QuirkState::kNotYet : QuirkState::kExpired;
}

}  // namespace pathproof::profile
