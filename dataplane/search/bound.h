// A load with what its trials say of it, as results name it.
#pragma once

#include "dataplane/search/classify.h"

namespace pathproof::search {

struct Bound {
    double load_pps = 0;     // intended
    double offered_pps = 0;  // the least of the trials that it rests on
    std::size_t trials = 0;
    double seconds = 0;  // of trials at this load, short ones too
    // Trials of these that the tester itself limited, and that leave the bound in doubt: used in
    // spite of an objection, or lossy and disturbed and needed for it.
    std::size_t tester_limited = 0;
    std::size_t doubtful = 0;
};

// The side that kept the load from being higher.
enum class Limit : std::uint8_t {
    kNotFound,  // there is no upper bound
    kDevice,
    kTester,  // the upper bound rests on trials in which the tester did not keep up
};
const char* name(Limit limit);

Bound describe(double load_pps, const Criteria& criteria, std::span<const TrialRecord> trials);
// Returns the limit behind an upper bound: the tester, if trials without its limit would not have
// made it one.
Limit limit_of(const Criteria& criteria, std::span<const TrialRecord> upper_bound_trials);

}  // namespace pathproof::search
