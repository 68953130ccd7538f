#include "dataplane/search/frame_loss_rate.h"

#include <algorithm>
#include <cmath>

namespace pathproof::search {
namespace {

// RFC 2544, 26.3: "granularity of 10 % or finer".
constexpr double kCoarsestStep = 0.1;

int steps(const LossCurvePlan& plan) {
    return static_cast<int>(std::ceil(1 / plan.step - 1e-9));
}

bool in_doubt(const TrialOutput& trial) {
    return !trial.objection.empty() || (trial.lost != 0 && !trial.disturbance.empty());
}

LossPoint point_of(const LossCurvePlan& plan, const TrialOutput& trial) {
    return {.share = trial.input.load_pps / plan.max_load_pps,
            .load_pps = trial.input.load_pps,
            .offered_pps = trial.offered_pps,
            .loss_ratio = trial.loss_ratio(),
            .sent = trial.sent,
            .lost = trial.lost,
            .tester_limited = !trial.tester_limit.empty(),
            .doubtful = trial.tester_limit.empty() && in_doubt(trial)};
}

}  // namespace

bool LossCurve::conclusive() const {
    return ending == Ending::kNone && clean_end &&
           std::none_of(points.begin(), points.end(), [](const LossPoint& point) {
               return point.tester_limited || point.doubtful;
           });
}

Result<LossCurve> measure_loss_curve(const LossCurvePlan& plan, Trials& trials) {
    if (!(plan.step > 0 && plan.step <= kCoarsestStep + 1e-9)) {
        return fail(ErrorCode::kBadInput,
                    "the step of a loss curve ({}) must be above 0 and at most 0.1", plan.step);
    }
    if (!(plan.max_load_pps > 0) || !std::isfinite(plan.max_load_pps)) {
        return fail(ErrorCode::kBadInput, "a loss curve needs a greatest load above 0");
    }
    LossCurve curve;
    unsigned clean = 0;
    for (int step = 0; step < steps(plan) && clean < 2; ++step) {
        const auto trial = TRY(trials.run({.load_pps = plan.max_load_pps * (1 - step * plan.step),
                                           .duration = plan.trial_duration}));
        if (trial == nullptr) {
            break;
        }
        const LossPoint point = point_of(plan, *trial);
        clean = point.loss_ratio == 0 ? clean + 1 : 0;
        curve.monotone &=
            curve.points.empty() || point.loss_ratio <= curve.points.back().loss_ratio;
        curve.points.push_back(point);
    }
    curve.clean_end = clean == 2;
    curve.ending = trials.ending();
    return curve;
}

Nanoseconds longest_time(const LossCurvePlan& plan) {
    return plan.trial_duration * steps(plan);
}

}  // namespace pathproof::search
