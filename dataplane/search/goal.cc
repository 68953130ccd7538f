#include "dataplane/search/goal.h"

#include <utility>

namespace pathproof::search {
namespace {

using Seconds = std::chrono::seconds;

struct Preset {
    const char* name;
    Criteria criteria;
};
constexpr Preset kPresets[] = {
    {"rfc2544", {.exceed_ratio = 0, .trial_duration = Seconds(60), .duration_sum = Seconds(60)}},
    {"tst009", {.exceed_ratio = 0.5, .trial_duration = Seconds(60), .duration_sum = Seconds(120)}},
    {"ndr", {.exceed_ratio = 0.5, .trial_duration = Seconds(1), .duration_sum = Seconds(21)}},
    {"pdr",
     {.loss_ratio = 0.005,
      .exceed_ratio = 0.5,
      .trial_duration = Seconds(1),
      .duration_sum = Seconds(21)}}};

bool is_share(double value) {
    return value >= 0 && value < 1;  // false for NaN
}

}  // namespace

Status check(const Goal& goal) {
    const Criteria& criteria = goal.criteria;
    const std::pair<bool, const char*> rules[] = {
        {is_share(criteria.loss_ratio), "the loss ratio must be at least 0 and below 1"},
        {is_share(criteria.exceed_ratio), "the exceed ratio must be at least 0 and below 1"},
        {is_share(goal.relative_width) && goal.relative_width > 0,
         "the width must be above 0 and below 1"},
        {goal.initial_trial_duration > Nanoseconds(0),
         "the initial trial duration must be above 0"},
        {criteria.trial_duration >= goal.initial_trial_duration,
         "the final trial duration must not be shorter than the initial one"},
        {criteria.duration_sum >= criteria.trial_duration,
         "the duration sum must not be shorter than one trial"},
        {goal.expansion >= 2, "the expansion must be 2 or more"}};
    for (const auto& [kept, rule] : rules) {
        if (!kept) {
            return fail(ErrorCode::kBadInput, "goal {}: {}", goal.name, rule);
        }
    }
    return {};
}

Result<Goal> preset(const std::string& name) {
    for (const Preset& one : kPresets) {
        if (name == one.name) {
            return Goal{.name = name, .criteria = one.criteria};
        }
    }
    return fail(ErrorCode::kBadInput,
                "'{}' is no preset of goals: rfc2544, tst009, ndr and pdr are", name);
}

}  // namespace pathproof::search
