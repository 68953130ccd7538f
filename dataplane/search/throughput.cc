#include "dataplane/search/throughput.h"

#include <cmath>
#include <vector>

namespace pathproof::search {
namespace {

// One trial that passes makes the load pass; the classification of MLRsearch says the same of a
// duration sum of `attempts` trials of which all but one may lose.
Criteria criteria_of(const ThroughputPlan& plan) {
    return {.loss_ratio = plan.loss_ratio,
            .exceed_ratio = (plan.attempts - 1.0) / plan.attempts,
            .trial_duration = plan.trial_duration,
            .duration_sum = plan.trial_duration * plan.attempts};
}

class BinarySearch {
  public:
    BinarySearch(const ThroughputPlan& plan, Trials& trials) : plan_(plan), trials_(trials) {}

    Status run() {
        const bool top = TRY(measure(plan_.max_load_pps));
        if (!top) {
            return {};
        }
        if (result_.passed) {
            result_.max_load_passes = true;
            return {};
        }
        bool more = TRY(measure(plan_.min_load_pps));
        while (more && result_.passed && !near_enough()) {
            const double middle = std::sqrt(result_.passed->load_pps * result_.failed->load_pps);
            more = TRY(measure(middle));
        }
        return {};
    }

    ThroughputResult take() {
        result_.ending = trials_.ending();
        return std::move(result_);
    }

  private:
    // False when there are no more trials.
    Result<bool> measure(double load) {
        const Criteria criteria = criteria_of(plan_);
        std::vector<TrialRecord> records;
        LoadClass load_class = LoadClass::kUndecided;
        while (load_class == LoadClass::kUndecided) {
            const auto trial =
                TRY(trials_.run({.load_pps = load, .duration = plan_.trial_duration}));
            if (trial == nullptr) {
                return false;
            }
            records.push_back(record_of(*trial));
            load_class = classify(criteria, sums(criteria, records));
        }
        const bool passes = load_class == LoadClass::kLowerBound;
        (passes ? result_.passed : result_.failed) = describe(load, criteria, records);
        if (!passes) {
            result_.limit = limit_of(criteria, records);
        }
        return true;
    }

    bool near_enough() const {
        return (result_.failed->load_pps - result_.passed->load_pps) / result_.failed->load_pps <=
               plan_.relative_width;
    }

    const ThroughputPlan& plan_;
    Trials& trials_;
    ThroughputResult result_{.relative_width = plan_.relative_width};
};

}  // namespace

Status check(const ThroughputPlan& plan) {
    TRY(check_loads(plan.min_load_pps, plan.max_load_pps));
    if (!(plan.relative_width > 0 && plan.relative_width < 1)) {
        return fail(ErrorCode::kBadInput, "the width ({}) must be above 0 and below 1",
                    plan.relative_width);
    }
    if (!(plan.loss_ratio >= 0 && plan.loss_ratio < 1)) {
        return fail(ErrorCode::kBadInput, "the loss ratio ({}) must be at least 0 and below 1",
                    plan.loss_ratio);
    }
    if (plan.attempts == 0 || plan.trial_duration <= Nanoseconds(0)) {
        return fail(ErrorCode::kBadInput, "a load needs at least one trial with a duration");
    }
    return {};
}

Result<ThroughputResult> find_throughput(const ThroughputPlan& plan, Trials& trials) {
    TRY(check(plan));
    BinarySearch search(plan, trials);
    TRY(search.run());
    return search.take();
}

Nanoseconds longest_time(const ThroughputPlan& plan) {
    const double ratio = std::log(plan.max_load_pps / plan.min_load_pps);
    const double halvings = std::ceil(std::log2(ratio / -std::log1p(-plan.relative_width)));
    const auto loads = 2 + static_cast<std::int64_t>(std::max(0.0, halvings));
    return plan.trial_duration * loads * plan.attempts;
}

}  // namespace pathproof::search
