// RFC 2544 throughput (26.1) by binary search, with the loss verification of ETSI GS NFV-TST 009
// (12.3.3) where it is asked for.
#pragma once

#include "dataplane/search/bound.h"
#include "dataplane/search/trials.h"

namespace pathproof::search {

struct ThroughputPlan {
    double min_load_pps = 1'000;
    double max_load_pps = 0;
    Nanoseconds trial_duration = std::chrono::seconds(60);
    double relative_width = 0.005;
    double loss_ratio = 0;
    // Trials at a load before it counts as failed; one that passes is enough (max(r) of TST 009).
    unsigned attempts = 1;
};

struct ThroughputResult {
    std::optional<Bound> passed;  // the greatest load found without loss
    std::optional<Bound> failed;  // the least load found with loss
    bool max_load_passes = false;
    Limit limit = Limit::kNotFound;
    Ending ending = Ending::kNone;
    double relative_width = 0;  // as it was asked for

    double throughput_pps() const { return passed ? passed->offered_pps : 0; }  // as offered
    bool doubtful() const { return (passed && passed->doubtful) || (failed && failed->doubtful); }
    // Returns whether both bounds were found, near enough, and are the device's and not the
    // tester's.
    bool conclusive() const {
        return ending == Ending::kNone && passed && failed && limit == Limit::kDevice &&
               !doubtful();
    }
};

// Errors (kBadInput): loads out of order, a width or loss ratio that is no share, no attempts.
Status check(const ThroughputPlan& plan);
Result<ThroughputResult> find_throughput(const ThroughputPlan& plan, Trials& trials);
// Returns the time of the trials at the largest number of loads that may be measured.
Nanoseconds longest_time(const ThroughputPlan& plan);

}  // namespace pathproof::search
