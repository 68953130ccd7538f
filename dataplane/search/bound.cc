#include "dataplane/search/bound.h"

#include <algorithm>
#include <vector>

namespace pathproof::search {

const char* name(Limit limit) {
    switch (limit) {
        case Limit::kNotFound:
            return "not found";
        case Limit::kDevice:
            return "device";
        case Limit::kTester:
            return "tester";
    }
    return "?";
}

Bound describe(double load_pps, const Criteria& criteria, std::span<const TrialRecord> trials) {
    Bound bound{.load_pps = load_pps, .trials = trials.size(), .sums = sums(criteria, trials)};
    for (const TrialRecord& trial : trials) {
        bound.seconds += seconds(trial.duration);
        bound.tester_limited += trial.tester_limited ? 1 : 0;
        bound.doubtful += trial.doubtful ? 1 : 0;
    }
    return bound;
}

Limit limit_of(const Criteria& criteria, std::span<const TrialRecord> upper_bound_trials) {
    std::vector<TrialRecord> own(upper_bound_trials.begin(), upper_bound_trials.end());
    std::erase_if(own, [](const TrialRecord& trial) { return trial.tester_limited; });
    return classify(criteria, sums(criteria, own)) == LoadClass::kUpperBound ? Limit::kDevice
                                                                             : Limit::kTester;
}

}  // namespace pathproof::search
