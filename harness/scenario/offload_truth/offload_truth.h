// The row of the scenario offload-truth.
#pragma once

namespace pathproof::scenario {

struct Scenario;
Scenario offload_truth_scenario();

}  // namespace pathproof::scenario
