// Judges whether a trial's figures can be relied on, and whether the tester was the limit. It reads
// the report alone, so that it can be tested with figures that no healthy machine gives.
#pragma once

#include <string>
#include <vector>

#include "dataplane/load/load_run.h"

namespace pathproof::load {

// Facts of the run that are not in a report.
struct RunFacts {
    std::string sender_ports;    // names, for the sentences
    std::string receiver_ports;  // empty: nobody listens
    bool counter_invariant = true;
    std::string clock_source;  // of CLOCK_MONOTONIC
    // Sentences about ports and lcores that hold for the whole run: a link that is down, a port on
    // another NUMA node than its lcore, two lcores on one CPU.
    std::vector<std::string> troubles;
};

// Time by which the first and the last departure may be late without the rate being missed.
inline constexpr double kEndsSeconds = 200e-6;

// Fills in `objections`, and what says that the tester was the limit.
void check_trial(TrialReport& report, const RunFacts& facts);

}  // namespace pathproof::load
