// The cells of two runs side by side.
#pragma once

#include <map>
#include <string>

#include "harness/compare/compare.h"

namespace pathproof::compare {

// The cells and controls of a scenario by id.
using Cells = std::map<std::string, const verdict::Cell*>;
Cells cells_of(const verdict::ScenarioResult& scenario);
// Null: there is none of this id.
const verdict::Cell* find(const Cells& cells, const std::string& id);
const verdict::ScenarioResult* scenario_of(const verdict::RunResult& run, const std::string& id);

// Adds to `result` what changed in a scenario and in its cells. Null: that run has no such scenario.
void compare_scenario(const verdict::ScenarioResult* before, const verdict::ScenarioResult* now,
                      Comparison& result);

}  // namespace pathproof::compare
