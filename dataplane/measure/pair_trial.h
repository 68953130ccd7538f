// A trial of a search whose unit is a pair of queries: loads are pairs a second, and a pair is lost
// unless both of its queries had their right answer in time.
#pragma once

#include "dataplane/judge/pair_report.h"
#include "dataplane/pairs/pair_plan.h"
#include "dataplane/search/trial.h"

namespace pathproof::measure {

// Pairs a second that really left, from the first departure to the last; 0: fewer than two pairs left.
double pairs_per_second(const judge::PairReport& report);

// The plan's run as a search sees it, all but what it cost. A load that was missed by more than
// `offered_tolerance`, a share, and frames that the tester's own ports lost are the tester's limit, as in
// load_measurer.h; what else the run objects to is the trial's objection.
search::TrialOutput output_of(const pairs::PairPlan& plan, const judge::PairReport& report,
                              double offered_tolerance);

// Returns the pairs a second at `share`, 0 to 1, of the links' rate. `bits_a_pair`: on the link
// that is full first; `mbps`: its speed.
constexpr double pairs_at_share(double share, double mbps, double bits_a_pair) {
    return share * mbps * 1e6 / bits_a_pair;
}

}  // namespace pathproof::measure
