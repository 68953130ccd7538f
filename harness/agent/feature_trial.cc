#include "harness/agent/feature_trial.h"

#include <algorithm>
#include <array>

#include "dataplane/base/suggestion.h"
#include "harness/agent/ethtool.h"
#include "harness/agent/operations.h"

namespace pathproof::agent {
namespace {

constexpr std::array<const char*, kTrialOutcomes> kOutcomeNames = {"taken", "already so", "fixed",
                                                                   "refused", "ignored"};

Failure no_such_feature(const std::string& device, const std::string& name,
                        const std::vector<Feature>& features) {
    std::vector<std::string> names;
    std::ranges::transform(features, std::back_inserter(names), &Feature::name);
    return fail(ErrorCode::kNotFound, "{} has no feature '{}'; 'ethtool -k {}' lists them{}",
                device, name, device, did_you_mean(name, names));
}

}  // namespace

const char* name(TrialOutcome outcome) {
    return kOutcomeNames[static_cast<std::size_t>(outcome)];
}

std::vector<FeatureChange> differences(const std::vector<Feature>& before,
                                       const std::vector<Feature>& after) {
    std::vector<FeatureChange> changes;
    for (const Feature& old : before) {
        const Feature* now = feature_named(after, old.name);
        if (now != nullptr && now->active != old.active) {
            changes.push_back({old.name, old.active, now->active, false});
        }
    }
    return changes;
}

Result<FeatureTrial> try_feature(const std::string& device, const std::string& name, bool on) {
    const std::vector<Feature> before = TRY(read_features(device));
    const Feature* feature = feature_named(before, name);
    if (feature == nullptr) {
        return no_such_feature(device, name, before);
    }
    FeatureTrial trial{.name = name, .wanted = on};
    if (feature->never_changed) {
        trial.outcome = TrialOutcome::kFixed;
        return trial;
    }
    const bool already = feature->active == on && feature->requested == on;
    const auto changed = change_features(device, {{name, on}});
    if (!changed && changed.error().code != ErrorCode::kNotSupported) {
        return pass_on(changed.error());
    }
    const std::vector<Feature> after = TRY(read_features(device));
    for (const FeatureChange& change : differences(before, after)) {
        if (change.name != name) {
            trial.along.push_back(change);
        }
    }
    if (!changed) {
        trial.outcome = TrialOutcome::kRefused;
        trial.reason = changed.error().message;
        return trial;
    }
    const Feature* now = feature_named(after, name);
    if (now == nullptr || now->active != on) {
        trial.outcome = TrialOutcome::kIgnored;
        return trial;
    }
    trial.outcome = already ? TrialOutcome::kAlready : TrialOutcome::kTaken;
    return trial;
}

Result<FeatureTrial> Client::try_feature(const std::string& device, const std::string& name,
                                         bool on) {
    return impl_->ask<FeatureTrial>("try_feature", device, name, on);
}

}  // namespace pathproof::agent
