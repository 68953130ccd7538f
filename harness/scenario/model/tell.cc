#include "harness/scenario/model/tell.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/verdict/interval.h"

namespace pathproof::scenario {

using verdict::Cell;
using verdict::CellVerdict;

std::vector<std::string> hindrances(const std::vector<JudgedCell>& cells) {
    std::vector<std::string> clauses;
    bool any_in_matrix = false;
    for (const auto& [cell, own] : cells) {
        if (cell->verdict == CellVerdict::kSkip) {
            continue;
        }
        const bool passes = cell->verdict == CellVerdict::kPass;
        any_in_matrix |= cell->role == Cell::Role::kMatrix;
        if (cell->verdict == CellVerdict::kError) {
            clauses.push_back(fmt::format("{} could not be measured ({})", cell->id, cell->reason));
        } else if (cell->role == Cell::Role::kControl && !passes) {
            clauses.push_back(fmt::format("the control {}: {}", cell->id, cell->reason));
        } else if (cell->role == Cell::Role::kMatrix && !passes && !own) {
            clauses.push_back(fmt::format("{}: {}", cell->id, cell->reason));
        }
    }
    if (!clauses.empty() || any_in_matrix) {
        return clauses;
    }
    for (const auto& [cell, own] : cells) {  // why they were skipped, each reason once
        if (cell->role == Cell::Role::kMatrix &&
            std::ranges::find(clauses, cell->reason) == clauses.end()) {
            clauses.push_back(cell->reason);
        }
    }
    if (clauses.empty()) {
        clauses.emplace_back(cells.empty() ? "nothing was measured"
                                           : "no cell without a cure was run beside the controls");
    }
    return clauses;
}

std::string why_not_shown(const Cell* cure, bool again, NamesCell names) {
    if (cure == nullptr) {
        return "not tried in this run";
    }
    if (cure->verdict != CellVerdict::kPass) {
        return "not shown: " + (names == NamesCell::kYes ? cure->id + ": " : "") + cure->reason;
    }
    return again ? "" : "not shown: without it the failure was not seen again";
}

void pair_cells(const Cell& failed, const Cell& cured, verdict::ScenarioResult& result) {
    if (result.after_cell.empty()) {
        result.before_cell = failed.id;
        result.after_cell = cured.id;
    }
}

verdict::Bar harm_bar(const std::string& label, std::uint64_t hits, std::uint64_t trials) {
    return verdict::share_bar(label, hits, trials,
                              hits == 0 ? verdict::Bar::Kind::kGood : verdict::Bar::Kind::kBad);
}

}  // namespace pathproof::scenario
