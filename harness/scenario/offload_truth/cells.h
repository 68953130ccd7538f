// The cells of a run on the sending side.
#pragma once

#include <vector>

#include "harness/scenario/offload_truth/truth_bench.h"
#include "harness/truth/kernel_table.h"
#include "harness/verdict/result.h"

namespace pathproof::scenario {

// One cell a setting, and one for each column under it that came out wrong, with its evidence.
std::vector<verdict::Cell> truth_cells(const truth::TruthRun& run, TruthBench& bench);

}  // namespace pathproof::scenario
