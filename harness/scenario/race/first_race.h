// dns-race --first: from the start of the program to the first race that is proven, and where the time
// goes.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "harness/scenario/race/race_experiments.h"
#include "harness/scenario/scenario.h"

namespace pathproof::scenario {

struct FirstRace {
    std::vector<MeasuredCell> cells;  // the race, then its control
    // Phases up to the proof, in order.
    std::vector<std::pair<std::string, std::chrono::milliseconds>> phases;
};

Result<verdict::ScenarioResult> run_first_race(Context& context);
// All but its id, title and duration.
verdict::ScenarioResult conclude(const FirstRace& race);

}  // namespace pathproof::scenario
