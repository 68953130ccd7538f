#include "dataplane/search/classify.h"

#include <algorithm>
#include <vector>

namespace pathproof::search {
namespace {

// Sums of nanoseconds times a ratio that has no exact binary form: a tie is to remain one.
constexpr double kTie = 1e-9;

struct Effective {
    double high = 0;
    double whole = 0;
};

// Short low-loss time makes up for short high-loss time in the proportion that the exceed ratio
// allows, and never more than that: it cannot make a load a lower bound.
Effective effective(const Criteria& criteria, const DurationSums& sums) {
    const double coefficient = criteria.exceed_ratio / (1 - criteria.exceed_ratio);
    const double excess = std::max(0.0, sums.short_high - sums.short_low * coefficient);
    const double high = sums.full_high + excess;
    return {.high = high, .whole = std::max(sums.full_low + high, seconds(criteria.duration_sum))};
}

// Sum that a trial's duration is added to.
double& sum_for(DurationSums& into, const Criteria& criteria, const TrialRecord& trial) {
    const bool high = trial.loss_ratio > criteria.loss_ratio;
    if (trial.duration >= criteria.trial_duration) {
        return high ? into.full_high : into.full_low;
    }
    return high ? into.short_high : into.short_low;
}

}  // namespace

TrialRecord record_of(const TrialOutput& trial) {
    const bool limited = !trial.tester_limit.empty();
    return {.duration = trial.input.duration,
            .loss_ratio = trial.loss_ratio(),
            .offered_pps = trial.offered_pps,
            .tester_limited = limited,
            .doubtful = !limited && !trial.objection.empty(),
            .disturbed = !limited && !trial.disturbance.empty()};
}

DurationSums sums(const Criteria& criteria, std::span<const TrialRecord> trials) {
    DurationSums into;
    for (const TrialRecord& trial : trials) {
        sum_for(into, criteria, trial) += seconds(trial.duration);
    }
    return into;
}

ExceedEstimates estimates(const Criteria& criteria, const DurationSums& sums) {
    const Effective time = effective(criteria, sums);
    return {.optimistic = time.high / time.whole,
            .pessimistic = (time.whole - sums.full_low) / time.whole};
}

LoadClass classify(const Criteria& criteria, const DurationSums& sums) {
    const ExceedEstimates share = estimates(criteria, sums);
    if (share.optimistic > criteria.exceed_ratio + kTie) {
        return LoadClass::kUpperBound;
    }
    if (share.pessimistic <= criteria.exceed_ratio + kTie) {
        return LoadClass::kLowerBound;
    }
    return LoadClass::kUndecided;
}

double quantile_loss_ratio(const Criteria& criteria, std::span<const TrialRecord> trials) {
    std::vector<TrialRecord> full;
    double measured = 0;
    for (const TrialRecord& trial : trials) {
        if (trial.duration >= criteria.trial_duration) {
            full.push_back(trial);
            measured += seconds(trial.duration);
        }
    }
    std::ranges::sort(full, {}, &TrialRecord::loss_ratio);
    const double whole = std::max(measured, seconds(criteria.duration_sum));
    double remaining = whole * (1 - criteria.exceed_ratio);
    double loss = 1;
    for (const TrialRecord& trial : full) {
        if (remaining <= whole * kTie) {
            return loss;
        }
        loss = trial.loss_ratio;
        remaining -= seconds(trial.duration);
    }
    return remaining > whole * kTie ? 1 : loss;
}

}  // namespace pathproof::search
