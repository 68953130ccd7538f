#include "harness/scenario/offload_truth/feature_switch.h"

#include <algorithm>

#include "dataplane/base/join_each.h"
#include "harness/scenario/measures.h"

namespace pathproof::scenario {
namespace {

using agent::Feature;
using truth::may_change;
using truth::Setting;
using truth::SettingTaken;

// Checksums before what is built on them (netdev_fix_features()).
int rank(const std::string& feature) {
    static const std::vector<std::string> kFirst = {"tx-scatter-gather", "tx-generic-segmentation",
                                                    "tx-tcp-segmentation"};
    if (feature.starts_with("tx-checksum-")) {
        return 0;
    }
    return static_cast<int>(std::ranges::find(kFirst, feature) - kFirst.begin()) + 1;
}

}  // namespace

Result<FeatureSwitch> FeatureSwitch::take(const TruthHost& host, const std::string& device,
                                          std::vector<std::string> varied) {
    FeatureSwitch taken(host, device);
    taken.as_found_ = TRY(host.agent().features(device));
    std::ranges::stable_sort(varied, {}, rank);
    taken.varied_ = std::move(varied);
    return taken;
}

Status FeatureSwitch::try_one(const std::string& feature, bool on, SettingTaken& taken) {
    auto trial = TRY(host_.try_feature(device_, feature, on));
    taken.trials.push_back(std::move(trial));
    return {};
}

Status FeatureSwitch::try_all(bool on, const std::string& except, SettingTaken& taken) {
    for (const std::string& feature : varied_) {
        TRY(feature == except ? Status() : try_one(feature, on, taken));
    }
    return {};
}

Result<SettingTaken> FeatureSwitch::set(const Setting& setting) {
    TRY(put_back());
    SettingTaken taken;
    switch (setting.kind) {
        case Setting::Kind::kAsFound: break;
        case Setting::Kind::kAllOff: TRY(try_all(false, "", taken)); break;
        case Setting::Kind::kAllOn: TRY(try_all(true, "", taken)); break;
        case Setting::Kind::kOneOff:
            TRY(try_one(setting.feature, false, taken));
            TRY(setting.with.empty() ? Status() : try_one(setting.with, false, taken));
            break;
        case Setting::Kind::kOneOn:
            TRY(try_all(false, setting.feature, taken));
            TRY(try_one(setting.feature, true, taken));
            break;
    }
    taken.features = TRY(host_.agent().features(device_));
    return taken;
}

Status FeatureSwitch::look_again(SettingTaken& taken) {
    const auto now = TRY(host_.agent().features(device_));
    for (const Feature& then : taken.features) {
        const Feature* feature = feature_named(now, then.name);
        if (feature != nullptr && feature->active != then.active) {
            taken.forgotten.push_back({then.name, then.active, feature->active, false});
        }
    }
    return {};
}

Result<std::vector<agent::FeatureChange>> FeatureSwitch::put_back() {
    std::vector<std::pair<std::string, bool>> wanted;
    const auto now = TRY(host_.agent().features(device_));
    for (const Feature& found : as_found_) {
        const Feature* feature = feature_named(now, found.name);
        if (may_change(found) && feature != nullptr && *feature != found) {
            wanted.emplace_back(found.name, found.requested);
        }
    }
    // A device that does not take them is found out below, by what it has afterwards.
    TRY(wanted.empty() ? Status() : host_.request_features(device_, wanted));
    const auto after = TRY(host_.agent().features(device_));
    std::vector<agent::FeatureChange> left;
    for (const Feature& found : as_found_) {
        const Feature* feature = feature_named(after, found.name);
        if (feature == nullptr || feature->active != found.active ||
            feature->requested != found.requested) {
            left.push_back(
                {found.name, found.active, feature != nullptr && feature->active, false});
        }
    }
    return left;
}

verdict::Cell put_back_cell(const std::string& id, const std::vector<agent::FeatureChange>& left) {
    verdict::Cell cell{.id = id, .toggles = {{"offloads", "put back"}}};
    cell.verdict = left.empty() ? verdict::CellVerdict::kPass : verdict::CellVerdict::kFail;
    cell.reason = join_each(left, [](const agent::FeatureChange& change) {
        return fmt::format("{} was {} and is {}", change.name, change.before ? "on" : "off",
                           change.after ? "on" : "off");
    });
    cell.measures = {
        count_of("flags_not_as_before", "flags that are not as they were found", left.size())};
    return cell;
}

}  // namespace pathproof::scenario
