#include "dataplane/search/bound.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace pathproof::search {

const char* name(Limit limit) {
    switch (limit) {
        case Limit::kNotFound: return "not found";
        case Limit::kDevice: return "device";
        case Limit::kTester: return "tester";
    }
    return "?";
}

namespace {

// Trials that the tester limited count as loss, not at what they offered, if there are others.
double least_offered(std::span<const TrialRecord> trials) {
    const auto worse = [](const TrialRecord& a, const TrialRecord& b) {
        return std::tie(a.tester_limited, a.offered_pps) <
               std::tie(b.tester_limited, b.offered_pps);
    };
    const auto least = std::ranges::min_element(trials, worse);
    return least == trials.end() ? 0 : least->offered_pps;
}

// A loss that a disturbance may have made speaks against the load: a lower bound stands in spite of
// it, an upper one only if it would without it.
std::size_t disturbed_and_needed(const Criteria& criteria, std::span<const TrialRecord> trials) {
    std::vector<TrialRecord> sound(trials.begin(), trials.end());
    const std::size_t disturbed = std::erase_if(sound, [&](const TrialRecord& trial) {
        return trial.disturbed && !trial.doubtful && trial.loss_ratio > criteria.loss_ratio;
    });
    return classify(criteria, sums(criteria, sound)) == classify(criteria, sums(criteria, trials))
               ? 0
               : disturbed;
}

}  // namespace

Bound describe(double load_pps, const Criteria& criteria, std::span<const TrialRecord> trials) {
    Bound bound{
        .load_pps = load_pps, .offered_pps = least_offered(trials), .trials = trials.size()};
    for (const TrialRecord& trial : trials) {
        bound.seconds += seconds(trial.duration);
        bound.tester_limited += trial.tester_limited ? 1 : 0;
        bound.doubtful += trial.doubtful ? 1 : 0;
    }
    bound.doubtful += disturbed_and_needed(criteria, trials);
    return bound;
}

Limit limit_of(const Criteria& criteria, std::span<const TrialRecord> upper_bound_trials) {
    std::vector<TrialRecord> own(upper_bound_trials.begin(), upper_bound_trials.end());
    std::erase_if(own, [](const TrialRecord& trial) { return trial.tester_limited; });
    return classify(criteria, sums(criteria, own)) == LoadClass::kUpperBound ? Limit::kDevice
                                                                             : Limit::kTester;
}

}  // namespace pathproof::search
