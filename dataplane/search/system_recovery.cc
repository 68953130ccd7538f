#include "dataplane/search/system_recovery.h"

#include <algorithm>

namespace pathproof::search {
namespace {

// A device counts as recovered when it lost nothing in the last fifth of the relief.
constexpr double kQuietShare = 0.2;

RecoveryRun run_of(const RecoveryPlan& plan, const TrialOutput& trial) {
    const Nanoseconds last = trial.last_loss.value_or(Nanoseconds(0));
    const bool limited = !trial.tester_limit.empty();
    return {.recovery = last,
            .lost = trial.lost,
            .overloaded = trial.lost != 0,
            .recovered = seconds(last) <= (1 - kQuietShare) * seconds(plan.relief_duration),
            .doubtful = !limited && (trial.disturbed() || !trial.objection.empty()),
            .tester_limited = limited};
}

bool counts(const RecoveryRun& run) {
    return run.overloaded && run.recovered;
}

}  // namespace

bool RecoveryResult::conclusive() const {
    return ending == Ending::kNone && !runs.empty() &&
           std::all_of(runs.begin(), runs.end(), [](const RecoveryRun& run) {
               return counts(run) && !run.doubtful && !run.tester_limited;
           });
}

Result<RecoveryResult> measure_recovery(const RecoveryPlan& plan, Trials& trials) {
    if (!(plan.throughput_pps > 0) || !(plan.max_load_pps > 0) || !(plan.overload > 0) ||
        !(plan.relief > 0) || plan.overload_duration <= Nanoseconds(0) ||
        plan.relief_duration <= Nanoseconds(0)) {
        return fail(ErrorCode::kBadInput,
                    "system recovery needs a throughput, a greatest load, factors and durations "
                    "above 0");
    }
    RecoveryResult result;
    result.overload_pps = std::min(plan.overload * plan.throughput_pps, plan.max_load_pps);
    result.relief_pps = plan.relief * result.overload_pps;
    while (result.runs.size() < plan.repeats) {
        const auto trial =
            TRY(trials.run({.load_pps = result.overload_pps,
                            .duration = plan.overload_duration,
                            .change = TrialInput::Change{.load_pps = result.relief_pps,
                                                         .duration = plan.relief_duration}},
                           Use::kTimes));
        if (trial == nullptr) {
            break;
        }
        result.runs.push_back(run_of(plan, *trial));
    }
    const auto counted = std::count_if(result.runs.begin(), result.runs.end(), counts);
    for (const RecoveryRun& run : result.runs) {
        if (counts(run)) {
            result.average_seconds += seconds(run.recovery) / static_cast<double>(counted);
        }
    }
    result.ending = trials.ending();
    return result;
}

Nanoseconds longest_time(const RecoveryPlan& plan) {
    return (plan.overload_duration + plan.relief_duration) * plan.repeats;
}

}  // namespace pathproof::search
