#include "dataplane/search/goal.h"

#include <array>

namespace pathproof::search {
namespace {

using Seconds = std::chrono::seconds;

constexpr std::array kNames = {"rfc2544", "tst009", "ndr", "pdr"};
constexpr double kWidth = 0.005;

Goal long_trials(const char* name, Nanoseconds sum, double exceed) {
    Goal goal;
    goal.name = name;
    goal.criteria = {.exceed_ratio = exceed, .trial_duration = Seconds(60), .duration_sum = sum};
    goal.relative_width = kWidth;
    return goal;
}

Goal short_trials(const char* name, double loss) {
    Goal goal;
    goal.name = name;
    goal.criteria = {.loss_ratio = loss,
                     .exceed_ratio = 0.5,
                     .trial_duration = Seconds(1),
                     .duration_sum = Seconds(21)};
    goal.relative_width = kWidth;
    return goal;
}

bool is_share(double value) {
    return value >= 0 && value < 1;  // false for NaN
}

}  // namespace

Status check(const Goal& goal) {
    const Criteria& criteria = goal.criteria;
    const auto wrong = [&](const char* what) {
        return fail(ErrorCode::kBadInput, "goal {}: {}", goal.name, what);
    };
    if (!is_share(criteria.loss_ratio)) {
        return wrong("the loss ratio must be at least 0 and below 1");
    }
    if (!is_share(criteria.exceed_ratio)) {
        return wrong("the exceed ratio must be at least 0 and below 1");
    }
    if (!is_share(goal.relative_width) || goal.relative_width == 0) {
        return wrong("the width must be above 0 and below 1");
    }
    if (goal.initial_trial_duration <= Nanoseconds(0)) {
        return wrong("the initial trial duration must be above 0");
    }
    if (criteria.trial_duration < goal.initial_trial_duration) {
        return wrong("the final trial duration must not be shorter than the initial one");
    }
    if (criteria.duration_sum < criteria.trial_duration) {
        return wrong("the duration sum must not be shorter than one trial");
    }
    if (goal.expansion < 2) {
        return wrong("the expansion must be 2 or more");
    }
    return {};
}

Result<Goal> preset(const std::string& name) {
    if (name == "rfc2544") {
        return long_trials("rfc2544", Seconds(60), 0);
    }
    if (name == "tst009") {
        return long_trials("tst009", Seconds(120), 0.5);
    }
    if (name == "ndr") {
        return short_trials("ndr", 0);
    }
    if (name == "pdr") {
        return short_trials("pdr", 0.005);
    }
    return fail(ErrorCode::kBadInput,
                "'{}' is no preset of goals: rfc2544, tst009, ndr and pdr are", name);
}

std::span<const char* const> preset_names() {
    return kNames;
}

}  // namespace pathproof::search
