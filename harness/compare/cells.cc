#include "harness/compare/cells.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <optional>
#include <sstream>

namespace pathproof::compare {
namespace {

using namespace verdict;

using Standing = std::optional<CellVerdict>;  // nothing: it is not there

bool failed(Standing standing) {
    return standing && verdict::fails(*standing);
}

bool has_verdict(Standing standing) {
    return standing == CellVerdict::kPass || failed(standing);
}

// A cell's standing in one of the runs.
struct Stood {
    Standing standing = std::nullopt;
    std::string words;
    std::string cause = {};
    bool once = true;  // of which a cell that fails at times tells nothing
};

std::string in_words(const Cell& cell) {
    const bool named = fails(cell.verdict) && !cell.cause.empty();
    return std::string(name(cell.verdict)) + (named ? " " + cell.cause : "") +
           (cell.runs && fails(cell.verdict)
                ? fmt::format(" ({} of {})", cell.runs->failed, cell.runs->n)
                : "");
}

Stood stood(const Cells& cells, const std::string& id, bool fails_in_the_other) {
    if (const Cell* cell = find(cells, id); cell != nullptr) {
        return {cell->verdict, in_words(*cell), cell->cause, !cell->runs || cell->runs->n < 2};
    }
    const Cell* whole =
        fails_in_the_other
            ? whole_of(id, [&](const std::string& other) { return find(cells, other); })
            : nullptr;
    if (whole == nullptr) {
        return {std::nullopt, "not run"};
    }
    return has_verdict(whole->verdict)
               ? Stood{CellVerdict::kPass, "PASS", "", !whole->runs || whole->runs->n < 2}
               : Stood{whole->verdict, in_words(*whole)};
}

// Classifies the change of a cell that fails now; nothing: it failed in the same way before.
std::optional<Change> change_to_failing(const Stood& was, const Stood& is) {
    const bool failed_before = failed(was.standing);
    if (failed_before && was.cause != is.cause) {
        return Change::kChangedCause;
    }
    if (was.standing == is.standing) {
        return std::nullopt;
    }
    if (is.standing == CellVerdict::kFail) {
        return Change::kNewFailure;
    }
    return failed_before ? Change::kFailsLess : Change::kUnstable;
}

// Classifies the change of a cell that passes now; nothing: it passed before.
std::optional<Change> change_to_passing(const Stood& was) {
    if (failed(was.standing)) {
        return Change::kFailureGone;
    }
    if (was.standing != CellVerdict::kPass) {
        return Change::kAppeared;
    }
    return std::nullopt;
}

// Classifies the change of a cell; nothing: it stands as it stood.
std::optional<Change> change_of(const Stood& was, const Stood& is) {
    if (was.standing == CellVerdict::kUnstable && has_verdict(is.standing) && is.once) {
        return Change::kNotComparable;
    }
    if (failed(is.standing)) {
        return change_to_failing(was, is);
    }
    if (is.standing == CellVerdict::kPass) {
        return change_to_passing(was);
    }
    if (!has_verdict(was.standing)) {
        return std::nullopt;
    }
    return !is.standing || is.standing == CellVerdict::kSkip ? Change::kDisappeared
                                                             : Change::kNotComparable;
}

void compare_cell(const std::string& scenario, const std::string& id, const Cells& before,
                  const Cells& now, Comparison& result) {
    const Cell* old = find(before, id);
    const Cell* present = find(now, id);
    const auto failing = [](const Cell* cell) {
        return cell != nullptr && verdict::fails(cell->verdict);
    };
    const Stood was = stood(before, id, failing(present));
    const Stood is = stood(now, id, failing(old));
    // A scenario that only one run has is told of as a whole, but for what fails.
    if ((before.empty() || now.empty()) && !failing(present)) {
        return;
    }
    const std::string full_id = scenario + "/" + id;
    if (const auto change = change_of(was, is)) {
        const Cell* speaks = present != nullptr && !present->reason.empty() ? present : old;
        result.changed.push_back({.change = *change,
                                  .id = full_id,
                                  .before = was.words,
                                  .now = is.words,
                                  .reason = speaks != nullptr ? speaks->reason : ""});
    } else {
        ++result.same_cells;
        result.failing_in_both += failing(present) ? 1 : 0;
    }
}

// The change of a scenario as a whole; nothing if its verdict is the same.
std::optional<Change> change_of(const ScenarioResult* before, const ScenarioResult* now) {
    if (before == nullptr || now == nullptr) {
        return now != nullptr ? Change::kAppeared : Change::kDisappeared;
    }
    if (before->verdict == now->verdict) {
        return std::nullopt;
    }
    if (now->verdict == ScenarioVerdict::kInconclusive) {
        return Change::kNotComparable;
    }
    if (now->verdict == ScenarioVerdict::kNotRun) {
        return Change::kDisappeared;
    }
    if (is_failure(now->verdict)) {
        return Change::kNewFailure;
    }
    return is_failure(before->verdict) ? Change::kFailureGone : Change::kAppeared;
}

// A cell that was not asked for is not missed.
bool was_asked_for(const ScenarioResult& scenario, const std::string& cell) {
    std::istringstream patterns(scenario.part);
    bool fits = scenario.part.empty();
    for (std::string pattern; !fits && std::getline(patterns, pattern, ',');) {
        fits = fnmatch(pattern.c_str(), cell.c_str(), 0) == 0;
    }
    return fits;
}

}  // namespace

Cells cells_of(const ScenarioResult& scenario) {
    Cells cells;
    for (const Cell& cell : all_cells(scenario)) {
        cells.emplace(cell.id, &cell);
    }
    return cells;
}

const Cell* find(const Cells& cells, const std::string& id) {
    const auto found = cells.find(id);
    return found == cells.end() ? nullptr : found->second;
}

const ScenarioResult* scenario_of(const RunResult& run, const std::string& id) {
    const auto found = std::ranges::find(run.scenarios, id, &ScenarioResult::id);
    return found == run.scenarios.end() ? nullptr : &*found;
}

void compare_scenario(const ScenarioResult* before, const ScenarioResult* now, Comparison& result) {
    const std::string& id = (now != nullptr ? now : before)->id;
    // A scenario's verdict is that of all cells that were asked for: with other cells it is a verdict on something else.
    const bool same_part = before == nullptr || now == nullptr || before->part == now->part;
    if (const auto change = same_part ? change_of(before, now) : std::nullopt) {
        result.changed.push_back({.change = *change,
                                  .id = id,
                                  .before = before != nullptr ? name(before->verdict) : "not run",
                                  .now = now != nullptr ? name(now->verdict) : "not run",
                                  .reason = now != nullptr ? now->headline : ""});
    }
    const Cells was = before != nullptr ? cells_of(*before) : Cells();
    const Cells is = now != nullptr ? cells_of(*now) : Cells();
    Cells all = was;
    all.insert(is.begin(), is.end());
    for (const auto& [cell, either] : all) {
        if (now == nullptr || is.contains(cell) || was_asked_for(*now, cell)) {
            compare_cell(id, cell, was, is, result);
        }
    }
}

}  // namespace pathproof::compare
