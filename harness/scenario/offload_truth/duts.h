// One run of the offload truth table over several devices under test: what each came to, side by
// side.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/verdict/result.h"

namespace pathproof::scenario {

struct DutResult {
    std::string name;
    verdict::ScenarioResult result;
    std::optional<verdict::Cell> failure = std::nullopt;  // why it was not judged to the end
};

// Returns the cell of a DUT that was not judged to the end: SKIP if the DUT cannot be had here,
// else ERROR with the end of its console's log.
verdict::Cell unjudged_cell(const Error& error, const std::string& log);

// All cells with the DUT's name before theirs; a table of the offloads of each, DUT by DUT, and
// behind it the tables of each. The worst verdict is that of all; a cure is shown where that of
// each defect is.
void conclude_duts(std::vector<DutResult> duts, verdict::ScenarioResult& result);

// A table of `duts` x offloads, worst of the conditions under which each was seen. Its cells are
// named as conclude_duts() names them.
verdict::TruthTable side_by_side(const std::vector<DutResult>& duts);

}  // namespace pathproof::scenario
