// MLRsearch (RFC 9971): finds the bounds of several goals in one search, whose trials count for all
// of them.
#pragma once

#include <vector>

#include "dataplane/search/bound.h"
#include "dataplane/search/goal.h"
#include "dataplane/search/trials.h"

namespace pathproof::search {

struct MlrPlan {
    std::vector<Goal> goals;
    double min_load_pps = 1'000;  // high enough for a frame or more in the shortest trial
    double max_load_pps = 0;
    Nanoseconds warm_up{};  // a trial at the greatest load before the first, not counted
    // Largest number of trials that repeat each lower bound when all goals are reached; they end
    // when one passes. If more of them fail than the exceed ratio allows, the device drifts or
    // stands on the edge. 0: not checked.
    unsigned closing_trials = 3;
};

// Reason why a goal's result is irregular (RFC 9971, "Irregular Goal Result").
enum class Irregularity : std::uint8_t {
    kMinLoadFails,   // the least load is an upper bound already
    kMaxLoadPasses,  // the greatest load is a lower bound: there is no upper one
    kNotConverged,   // ended before the bounds were close enough
    kDidNotHold,     // the lower bound failed when measured again at the end
};
const char* name(Irregularity irregularity);

struct GoalResult {
    Goal goal;
    // Relevant bounds. Without an upper bound, `lower` is the greatest load and not a real one.
    std::optional<Bound> lower;
    std::optional<Bound> upper;
    double conditional_throughput_pps = 0;  // at `lower`, of what was offered
    std::vector<Irregularity> irregularities;
    Limit limit = Limit::kNotFound;
    // A load above the upper bound that is a lower bound: the device is not monotone.
    std::optional<double> passes_again_pps;
    unsigned closing_run = 0;
    unsigned closing_failed = 0;

    bool regular() const { return irregularities.empty(); }
    bool doubtful() const { return (lower && lower->doubtful) || (upper && upper->doubtful); }
    // Regular, of the device and not of the tester, and without a trial that had an objection.
    bool conclusive() const { return regular() && limit == Limit::kDevice && !doubtful(); }
};

struct MlrResult {
    std::vector<GoalResult> goals;
    Ending ending = Ending::kNone;
};

// Errors (kBadInput): what check() says of a goal, no goal at all, loads out of order.
Status check(const MlrPlan& plan);

// Errors: those of check(), and of the measurer. A search that was stopped is no error: it gives
// the bounds so far, irregular.
Result<MlrResult> mlr_search(const MlrPlan& plan, Trials& trials);

// Returns the usual time of such a search on a steady device, trial time only: for the message
// before it begins.
Nanoseconds usual_time(const MlrPlan& plan);

}  // namespace pathproof::search
