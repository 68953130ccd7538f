// Where the workers of a run sit, and what is wrong with that.
#pragma once

#include <string>
#include <vector>

#include "dataplane/load/load_run.h"

namespace pathproof::load {

// Sentences: two workers on one CPU, workers on another NUMA node than a port that they use.
std::vector<std::string> placement_troubles(const Roles& roles);

}  // namespace pathproof::load
