#include "harness/verdict/repeat.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace pathproof::verdict {
namespace {

using Repetitions = std::vector<ScenarioResult>;

int badness(ScenarioVerdict verdict) {
    switch (verdict) {
        case ScenarioVerdict::kInconclusive: return 3;
        case ScenarioVerdict::kReproduced:
        case ScenarioVerdict::kDefectFound: return 2;
        case ScenarioVerdict::kExposed: return 1;
        case ScenarioVerdict::kNotReproduced:
        case ScenarioVerdict::kNoDefectFound:
        case ScenarioVerdict::kMeasured:
        case ScenarioVerdict::kNotRun: break;
    }
    return 0;
}

// A cell's outcomes, repetition by repetition.
struct Tried {
    Runs runs;
    std::map<std::string, std::size_t> causes;  // of those that failed
    std::vector<const Cell*> cells;             // null: not there
};

Tried tried(const Repetitions& all, const std::string& id) {
    Tried seen;
    for (const ScenarioResult& one : all) {
        const auto find = [&](const std::string& other) { return find_cell(one, other); };
        const Cell* cell = find(id);
        const Cell* judged = cell != nullptr ? cell : whole_of(id, find);
        const bool failed = cell != nullptr && cell->verdict == CellVerdict::kFail;
        const bool passed = judged != nullptr && !failed &&
                            (judged->verdict == CellVerdict::kPass ||
                             (cell == nullptr && judged->verdict == CellVerdict::kFail));
        seen.runs.n += failed || passed ? 1 : 0;
        seen.runs.failed += failed ? 1 : 0;
        if (failed) {
            ++seen.causes[cell->cause];
        }
        seen.cells.push_back(cell);
    }
    return seen;
}

// The repetition that speaks for all.
std::size_t choose(const Tried& seen) {
    std::size_t most = 0;
    for (const auto& [cause, count] : seen.causes) {
        most = std::max(most, count);
    }
    const auto rank = [&](const Cell* cell) {
        if (cell == nullptr) {
            return 5;
        }
        switch (cell->verdict) {
            case CellVerdict::kError: return 0;
            case CellVerdict::kInconclusive: return 1;
            case CellVerdict::kFail: return seen.causes.at(cell->cause) == most ? 2 : 4;
            case CellVerdict::kPass: return 3;
            case CellVerdict::kSkip:
            case CellVerdict::kUnstable: break;
        }
        return 4;
    };
    return static_cast<std::size_t>(std::ranges::min_element(seen.cells, {}, rank) -
                                    seen.cells.begin());
}

// The value of a figure in each repetition that came to a verdict, or its own trials there.
std::vector<double> trials_of(const Measure& figure, const std::vector<const Cell*>& cells) {
    std::vector<double> trials;
    for (const Cell* cell : cells) {
        if (cell == nullptr || (cell->verdict != CellVerdict::kPass && !fails(cell->verdict))) {
            continue;
        }
        const auto there = std::ranges::find(cell->measures, figure.name, &Measure::name);
        if (there == cell->measures.end() || !there->value.is_number() ||
            there->unit != figure.unit) {
            continue;
        }
        if (!there->trials.empty()) {
            trials.insert(trials.end(), there->trials.begin(), there->trials.end());
        } else if (std::isfinite(there->value.number())) {
            trials.push_back(there->value.number());
        }
    }
    return trials;
}

Cell combined_cell(const Repetitions& all, const std::string& id) {
    Tried seen = tried(all, id);
    const std::size_t kept = choose(seen);
    Cell cell = *seen.cells[kept];
    seen.runs.kept = kept + 1;
    cell.runs = seen.runs;
    for (Measure& figure : cell.measures) {
        figure.trials = trials_of(figure, seen.cells);
    }
    if (cell.verdict == CellVerdict::kFail && seen.runs.failed < seen.runs.n) {
        cell.verdict = CellVerdict::kUnstable;
        cell.reason = fmt::format("It failed in {} of {} repetitions; in repetition {}: {}",
                                  seen.runs.failed, seen.runs.n, kept + 1, cell.reason);
    } else if (cell.verdict == CellVerdict::kError || cell.verdict == CellVerdict::kInconclusive) {
        cell.reason = fmt::format("In repetition {}: {}", kept + 1, cell.reason);
    }
    if (seen.causes.size() > 1) {
        for (const auto& [cause, count] : seen.causes) {
            cell.reason +=
                fmt::format("; {} in {}", cause.empty() ? "no named cause" : cause, count);
        }
    }
    return cell;
}

std::vector<Cell> combined_cells(const Repetitions& all, std::vector<Cell> ScenarioResult::*list,
                                 std::set<std::string>& done) {
    std::vector<Cell> cells;
    for (const ScenarioResult& one : all) {
        for (const Cell& cell : one.*list) {
            if (done.insert(cell.id).second) {
                cells.push_back(combined_cell(all, cell.id));
            }
        }
    }
    return cells;
}

// A control that shows the failure, once or always; null if none does.
const Cell* failing_control(const ScenarioResult& result) {
    for (const Cell& cell : result.controls) {
        if (fails(cell.verdict) && role_among_controls(cell) == Cell::Role::kControl) {
            return &cell;
        }
    }
    const auto found = std::ranges::find_if(result.cells, [](const Cell& cell) {
        return fails(cell.verdict) && cell.role == Cell::Role::kControl;
    });
    return found == result.cells.end() ? nullptr : &*found;
}

}  // namespace

std::uint64_t seed_of_repetition(std::uint64_t seed, std::size_t number) {
    const std::uint64_t sum = seed + number - 1;
    return sum < seed ? sum + 1 : sum;
}

ScenarioResult combine(Repetitions all, std::uint64_t seed) {
    if (all.size() == 1) {
        return std::move(all.front());
    }
    const auto worst = std::ranges::max_element(
        all, {}, [](const ScenarioResult& one) { return badness(one.verdict); });
    ScenarioResult result = *worst;
    result.kept = static_cast<std::size_t>(worst - all.begin()) + 1;
    result.headline =
        fmt::format("{} in {} of {} repetitions. Repetition {}: {}", name(result.verdict),
                    std::ranges::count(all, result.verdict, &ScenarioResult::verdict), all.size(),
                    result.kept, result.headline);
    std::set<std::string> done;
    result.cells = combined_cells(all, &ScenarioResult::cells, done);
    result.controls = combined_cells(all, &ScenarioResult::controls, done);
    result.seconds = 0;
    result.unexplained = 0;
    result.cure_shown = is_failure(result.verdict);
    for (const ScenarioResult& one : all) {
        result.repetitions.push_back(
            {seed_of_repetition(seed, result.repetitions.size() + 1), one.verdict, one.headline});
        result.seconds += one.seconds;
        result.unexplained += one.unexplained;
        result.cure_shown &= is_failure(one.verdict) && one.cure_shown;
        if (!result.calibration) {
            result.calibration = one.calibration;
        }
    }
    if (worst->cure_shown && !result.cure_shown) {
        result.explanation.emplace_back(
            "The failure and its cure did not show in each repetition: the cure does not count as "
            "shown, for the failure may have gone by itself.");
    }
    const Cell* control = failing_control(result);
    if (control != nullptr && result.verdict != ScenarioVerdict::kInconclusive) {
        result.verdict = ScenarioVerdict::kInconclusive;
        result.headline =
            fmt::format("Control {} shows the failure in {} of {} repetitions. {}", control->id,
                        control->runs->failed, control->runs->n, result.headline);
    }
    return result;
}

}  // namespace pathproof::verdict
