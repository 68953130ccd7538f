// Judges a load by its trials: the load classification and the conditional throughput of MLRsearch
// (RFC 9971, "Load Classification Logic" and "Conditional Throughput Logic").
#pragma once

#include <span>

#include "dataplane/search/goal.h"

namespace pathproof::search {

// A trial as the classification sees it. Its effective duration is the intended one.
struct TrialRecord {
    Nanoseconds duration{};
    double loss_ratio = 0;
    double offered_pps = 0;
    bool tester_limited = false;
    bool doubtful = false;   // used in spite of an objection
    bool disturbed = false;  // may have lost frames by the tester's doing
};
TrialRecord record_of(const TrialOutput& trial);

// Sums of the durations of trials at one load, as one goal sees them. Short: below the goal's final
// trial duration. High loss: above the goal's loss ratio.
struct DurationSums {
    double full_low = 0;  // seconds
    double full_high = 0;
    double short_low = 0;
    double short_high = 0;
};

enum class LoadClass : std::uint8_t { kUndecided, kLowerBound, kUpperBound };

// The two estimates behind a class: the share of high-loss time if all that is missing to the
// duration sum were low-loss, and if it were high-loss.
struct ExceedEstimates {
    double optimistic = 0;
    double pessimistic = 1;
};

DurationSums sums(const Criteria& criteria, std::span<const TrialRecord> trials);
ExceedEstimates estimates(const Criteria& criteria, const DurationSums& sums);
LoadClass classify(const Criteria& criteria, const DurationSums& sums);

// The loss ratio that the share 1 - exceed ratio of full-length time does not pass; what is missing
// to the duration sum counts as lost altogether. Conditional throughput is the load times what this
// leaves of 1. Makes sense of a lower bound only.
double quantile_loss_ratio(const Criteria& criteria, std::span<const TrialRecord> trials);

}  // namespace pathproof::search
