// performance: what a path through the DUT carries, how late, and at what cost, by the searches of
// dataplane/search.
#pragma once

#include <string>
#include <vector>

#include "harness/scenario/scenario.h"

namespace pathproof::scenario {

Scenario performance_scenario();

// The usual time of all cells that are asked for, in seconds. `is_software`: the ports are no
// hardware, whose trials are longer.
double usual_performance_seconds(const Options& options, bool is_software);

}  // namespace pathproof::scenario
