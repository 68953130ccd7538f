// The parts of a scenario's conclusion that do not depend on what it looks for, for data and code alike.
#pragma once

#include <string>
#include <vector>

#include "harness/verdict/result.h"

namespace pathproof::scenario {

// A cell, and whether it fails by nothing but what the scenario looks for.
struct JudgedCell {
    const verdict::Cell* cell = nullptr;
    bool own = false;
};

// Lists the failures that rule out any conclusion; empty: none.
std::vector<std::string> hindrances(const std::vector<JudgedCell>& cells);

enum class NamesCell { kNo, kYes };

// Returns the reason why a cure is not shown; empty: it is shown. `cure`: the cell with the cure,
// or null. `again`: the failure was seen again without it.
std::string why_not_shown(const verdict::Cell* cure, bool again, NamesCell names);

// Puts the cell that failed and the one that shows a cure side by side, unless two are already.
void pair_cells(const verdict::Cell& failed, const verdict::Cell& cured,
                verdict::ScenarioResult& result);

// A bar of what should be none.
verdict::Bar harm_bar(const std::string& label, std::uint64_t hits, std::uint64_t trials);

}  // namespace pathproof::scenario
