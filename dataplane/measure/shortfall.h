// Shortfall of a trial's offered load below the intended one (RFC 2285, 3.5), and its reason.
#pragma once

#include <cstdint>

#include "dataplane/load/load_run.h"
#include "dataplane/search/trial.h"

namespace pathproof::measure {

enum class Shortfall : std::uint8_t {
    kTolerated,  // none, or no more than is tolerated: the trial is used at what was sent
    kStalls,     // senders stood still for so long; without that it would be tolerated
    kReach,      // the tester cannot send so much
};

// Returns the load that really left, in frames per second: over the intended duration, where there
// is one and a load.
double offered_pps(const search::TrialInput& input, const load::TrialReport& report);

// `tolerance`: share of the intended load. At full speed, with a change of load, and in a trial
// that was cut short there is no load to fall short of.
Shortfall shortfall(const search::TrialInput& input, const load::TrialReport& report,
                    double tolerance);

// Returns how long a worker stood still or waited for its CPU.
double seconds_lost(const load::WorkerHealth& worker);

}  // namespace pathproof::measure
