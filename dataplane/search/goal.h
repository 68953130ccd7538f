// Goals of a search with MLRsearch (RFC 9971), and the well-known ones by name.
#pragma once

#include <string>

#include "dataplane/base/result.h"
#include "dataplane/search/trial.h"

namespace pathproof::search {

// Criteria that make a load a lower or an upper bound.
struct Criteria {
    double loss_ratio = 0;    // a trial that loses more is a high-loss trial
    double exceed_ratio = 0;  // share of high-loss time that a lower bound may have
    Nanoseconds trial_duration = std::chrono::seconds(60);  // of a full-length trial
    Nanoseconds duration_sum = std::chrono::seconds(60);
};

struct Goal {
    std::string name;
    Criteria criteria;
    double relative_width = 0.005;  // (upper - lower) / upper at the end
    Nanoseconds initial_trial_duration = std::chrono::seconds(1);
    // Coarser targets that are reached first: each with twice the width of the next, and with
    // trials and sums that grow from the initial trial duration to the goal's own.
    unsigned preceding_targets = 2;
    unsigned expansion = 2;  // factor of the step while a bound is missing
};

// Errors (kBadInput): an attribute outside of what RFC 9971 allows, named with its goal.
Status check(const Goal& goal);

// "rfc2544" (section 24: 60 s without loss), "tst009" (ETSI GS NFV-TST 009, 12.3.3: a second trial
// where the first lost), "ndr" and "pdr" (as FD.io CSIT has them: 21 trials of 1 s, half of which
// may lose; none and 0.5 % of the frames). Errors (kBadInput): names those there are.
Result<Goal> preset(const std::string& name);

}  // namespace pathproof::search
