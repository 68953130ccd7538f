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

// What keeps everything from being concluded; empty: nothing.
std::vector<std::string> hindrances(const std::vector<JudgedCell>& cells);

enum class NamesCell { kNo, kYes };

// Why a cure is not shown, of the cell with it (or null) and whether without it the failure was seen
// again. Empty: it is shown.
std::string why_not_shown(const verdict::Cell* cure, bool again, NamesCell names);

// Puts the cell that failed and the one that shows a cure side by side, unless two are already.
void pair_cells(const verdict::Cell& failed, const verdict::Cell& cured,
                verdict::ScenarioResult& result);

// A bar of what should be none.
verdict::Bar harm_bar(const std::string& label, std::uint64_t hits, std::uint64_t trials);

}  // namespace pathproof::scenario
