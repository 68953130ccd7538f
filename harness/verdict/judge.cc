// The verdict of a run, from its scenarios alone.
#include <fmt/format.h>

#include <algorithm>

#include "harness/verdict/contradiction.h"
#include "harness/verdict/result.h"

namespace pathproof::verdict {
namespace {

using Reasons = std::vector<std::string>;

using Role = Cell::Role;

// All cells of this role, of both lists, in order.
std::vector<const Cell*> cells_of(const ScenarioResult& scenario, Role role) {
    std::vector<const Cell*> found;
    for (const Cell& cell : scenario.cells) {
        if (cell.role == role) {
            found.push_back(&cell);
        }
    }
    for (const Cell& cell : scenario.controls) {
        if (role_among_controls(cell) == role) {
            found.push_back(&cell);
        }
    }
    return found;
}

std::size_t count(const std::vector<const Cell*>& cells, CellVerdict verdict) {
    return static_cast<std::size_t>(
        std::ranges::count_if(cells, [&](const Cell* cell) { return cell->verdict == verdict; }));
}

std::size_t count_failing(const std::vector<const Cell*>& cells) {
    return count(cells, CellVerdict::kFail) + count(cells, CellVerdict::kUnstable);
}

std::string because(const std::string& reason) {
    return reason.empty() ? "" : ": " + reason;
}

// Finds the reason why a single cell is no measurement; none for a cell that was measured.
void find_unmeasured(const std::string& scenario, const char* kind, const Cell& cell,
                     Reasons& found) {
    switch (cell.verdict) {
        case CellVerdict::kPass:
        case CellVerdict::kFail:
        case CellVerdict::kUnstable: return;
        case CellVerdict::kError:
            found.push_back(fmt::format("{}: {} {} could not be measured{}", scenario, kind,
                                        cell.id, because(cell.reason)));
            return;
        case CellVerdict::kInconclusive:
            found.push_back(fmt::format("{}: {} {} is inconclusive{}", scenario, kind, cell.id,
                                        because(cell.reason)));
            return;
        case CellVerdict::kSkip:
            if (cell.reason.empty()) {
                found.push_back(
                    fmt::format("{}: {} {} was skipped without a reason", scenario, kind, cell.id));
            }
            return;
    }
}

// Names the failure in the words of the kind of scenario that found it.
const char* failure_word(const ScenarioResult& scenario) {
    return is_truth(scenario.verdict) ? "a defect was found" : "the failure was reproduced";
}

void find_gaps_of_failure(const ScenarioResult& scenario, Reasons& found) {
    if (count_failing(cells_of(scenario, Role::kMatrix)) == 0) {
        found.push_back(fmt::format("{}: it says {}, but no cell shows the failure", scenario.id,
                                    name(scenario.verdict)));
    }
    const auto controls = cells_of(scenario, Role::kControl);
    const bool may_lack_controls =
        controls.empty() && (is_truth(scenario.verdict) || !scenario.part.empty());
    if (!may_lack_controls && count(controls, CellVerdict::kPass) == 0) {
        found.push_back(fmt::format("{}: {}, and no negative control passed beside it", scenario.id,
                                    failure_word(scenario)));
    }
    for (const Cell* cure : cells_of(scenario, Role::kCure)) {
        if (fails(cure->verdict) && scenario.cure_shown) {
            found.push_back(fmt::format("{}: its cure is said to be shown, but {} fails{}",
                                        scenario.id, cure->id, because(cure->reason)));
        }
    }
}

// Finds counts without a cause, which a cell that passes may not have.
void find_false_pass(const std::string& scenario, const Cell& cell, Reasons& found) {
    for (const Measure& measure : cell.measures) {
        if (cell.verdict == CellVerdict::kPass && measure.name == kUnexplained &&
            measure.value.is_number() && !measure.value.is_zero()) {
            found.push_back(fmt::format("{}: {} passes, but {} of what it counted has no cause",
                                        scenario, cell.id, measure.value.text()));
        }
    }
}

// Finds the reasons why the scenario is no basis for a verdict, most important first.
void find_gaps(const ScenarioResult& scenario, Reasons& found) {
    if (scenario.verdict == ScenarioVerdict::kNotRun) {
        // Its lab lacks what it takes: a remark.
        for (const Cell& cell : all_cells(scenario)) {
            if (cell.verdict != CellVerdict::kSkip || cell.reason.empty()) {
                found.push_back(fmt::format("{}: it says NOT RUN, and {} is {}", scenario.id,
                                            cell.id, name(cell.verdict)));
            }
        }
        return;
    }
    for (const Cell* control : cells_of(scenario, Role::kControl)) {
        if (fails(control->verdict)) {
            found.push_back(
                fmt::format("{}: control {} shows the failure too, so the measurement proves "
                            "nothing{}",
                            scenario.id, control->id, because(control->reason)));
        }
    }
    for (const Cell* shown : cells_of(scenario, Role::kDemonstration)) {
        if (fails(shown->verdict)) {
            found.push_back(fmt::format("{}: demonstration {} does not show what it must{}",
                                        scenario.id, shown->id, because(shown->reason)));
        }
    }
    for (const Role role : {Role::kControl, Role::kMatrix, Role::kCure, Role::kDemonstration}) {
        for (const Cell* cell : cells_of(scenario, role)) {
            find_unmeasured(scenario.id, role == Role::kMatrix ? "cell" : name(role), *cell, found);
            find_false_pass(scenario.id, *cell, found);
        }
    }
    for (const std::string& contradiction : contradictions(scenario)) {
        found.push_back(fmt::format("{}: it contradicts itself: {}", scenario.id, contradiction));
    }
    if (scenario.unexplained > 0) {
        found.push_back(fmt::format("{}: {} lost or wrong answers could not be joined to a cause",
                                    scenario.id, scenario.unexplained));
    }
    const auto skipped = [](const Cell& cell) { return cell.verdict == CellVerdict::kSkip; };
    if (std::ranges::all_of(scenario.cells, skipped)) {
        const bool controls_too = std::ranges::all_of(scenario.controls, skipped);
        found.push_back(fmt::format(
            "{}: {}{}", scenario.id,
            controls_too ? "nothing was executed" : "nothing but its controls was executed",
            because(scenario.headline)));
    } else if (scenario.verdict == ScenarioVerdict::kInconclusive) {
        found.push_back(fmt::format("{}: the result is inconclusive{}", scenario.id,
                                    because(scenario.headline)));
    } else if (is_failure(scenario.verdict)) {
        find_gaps_of_failure(scenario, found);
    }
}

// Finds the facts that speak against the path under test.
void find_faults(const ScenarioResult& scenario, Reasons& found) {
    if (scenario.verdict == ScenarioVerdict::kInconclusive ||
        scenario.verdict == ScenarioVerdict::kNotRun) {
        return;
    }
    const auto cures = cells_of(scenario, Role::kCure);
    if (!is_failure(scenario.verdict)) {
        const auto cells = cells_of(scenario, Role::kMatrix);
        if (const std::size_t failed = count_failing(cells) + count_failing(cures); failed > 0) {
            if (scenario.verdict == ScenarioVerdict::kMeasured) {
                found.push_back(fmt::format("{}: {} of {} cells fail{}", scenario.id, failed,
                                            cells.size() + cures.size(),
                                            because(scenario.headline)));
                return;
            }
            found.push_back(fmt::format(
                "{}: {} of {} cells fail, and not from {}", scenario.id, failed,
                cells.size() + cures.size(),
                is_truth(scenario.verdict) ? "a wrong frame" : "the failure it looks for"));
        }
        return;
    }
    if (scenario.cause.empty()) {
        found.push_back(fmt::format("{}: {}, but its cause was not named", scenario.id,
                                    failure_word(scenario)));
    }
    if (!scenario.cure_shown) {
        std::string failing;
        for (const Cell* cure : cures) {
            if (fails(cure->verdict)) {
                failing += fmt::format("; {} fails{}", cure->id, because(cure->reason));
            }
        }
        found.push_back(fmt::format("{}: {}, and no cure was shown in this run{}", scenario.id,
                                    failure_word(scenario), failing));
    }
}

std::string nothing_found(const std::vector<ScenarioResult>& scenarios) {
    const auto truths = std::ranges::count_if(
        scenarios, [](const ScenarioResult& scenario) { return is_truth(scenario.verdict); });
    const auto run = std::ranges::count_if(scenarios, [](const ScenarioResult& scenario) {
        return scenario.verdict != ScenarioVerdict::kNotRun &&
               scenario.verdict != ScenarioVerdict::kMeasured;
    });
    if (run == 0) {
        std::string measured;
        for (const ScenarioResult& scenario : scenarios) {
            if (scenario.verdict == ScenarioVerdict::kMeasured) {
                measured += (measured.empty() ? "" : "; ") + scenario.headline;
            }
        }
        return measured;
    }
    const bool controlled = std::ranges::any_of(scenarios, [](const ScenarioResult& scenario) {
        return count(cells_of(scenario, Role::kControl), CellVerdict::kPass) > 0;
    });
    const char* what = "no scenario reproduced its failure or found a defect";
    if (truths == 0) {
        what = "no scenario reproduced its failure";
    } else if (truths == run) {
        what = "no defect was found";
    }
    return fmt::format("{}{}", what, controlled ? ", and every control passed" : "");
}

// Finds remarks that belong in the report whatever the verdict is.
void find_remarks(const ScenarioResult& scenario, Reasons& found) {
    if (scenario.verdict == ScenarioVerdict::kExposed) {
        found.push_back(fmt::format("{}: the failure is exposed here and harmed nobody{}",
                                    scenario.id, because(scenario.headline)));
    }
    if (scenario.verdict == ScenarioVerdict::kNotRun) {
        found.push_back(fmt::format("{}: {}", scenario.id, scenario.headline));
    }
    std::string unstable;
    for (const Cell& cell : all_cells(scenario)) {
        if (cell.verdict == CellVerdict::kUnstable) {
            unstable +=
                fmt::format("{}{} ({} of {})", unstable.empty() ? "" : ", ", cell.id,
                            cell.runs ? cell.runs->failed : 0, cell.runs ? cell.runs->n : 0);
        }
    }
    if (!unstable.empty()) {
        found.push_back(fmt::format("{}: unstable, failing in some repetitions only: {}",
                                    scenario.id, unstable));
    }
    if (!scenario.part.empty()) {
        found.push_back(
            fmt::format("{}: only the cells that match {} were run, nothing is said of "
                        "the others",
                        scenario.id, scenario.part));
    }
}

RunVerdict judge(const std::vector<ScenarioResult>& scenarios, Reasons& reasons) {
    Reasons faults;
    Reasons exceptions;
    for (const ScenarioResult& scenario : scenarios) {
        find_gaps(scenario, reasons);
        find_faults(scenario, faults);
        if (is_failure(scenario.verdict)) {
            exceptions.push_back(
                fmt::format("{}: {}, its cause named and its cure shown in this run", scenario.id,
                            failure_word(scenario)));
        }
    }
    if (!reasons.empty()) {
        reasons.insert(reasons.end(), faults.begin(), faults.end());
        return RunVerdict::kIncomplete;
    }
    if (!faults.empty()) {
        reasons = std::move(faults);
        return RunVerdict::kNotQualified;
    }
    if (!exceptions.empty()) {
        reasons = std::move(exceptions);
        return RunVerdict::kConditionallyQualified;
    }
    reasons = {nothing_found(scenarios)};
    return RunVerdict::kQualified;
}

}  // namespace

std::pair<RunVerdict, std::vector<std::string>> judge_run(
    const std::vector<ScenarioResult>& scenarios) {
    const bool none_run = std::ranges::all_of(scenarios, [](const ScenarioResult& scenario) {
        return scenario.verdict == ScenarioVerdict::kNotRun;
    });
    Reasons reasons;
    if (none_run) {
        reasons = {"no scenario was run"};
    }
    const RunVerdict verdict = none_run ? RunVerdict::kIncomplete : judge(scenarios, reasons);
    for (const ScenarioResult& scenario : scenarios) {
        find_remarks(scenario, reasons);
    }
    return {verdict, std::move(reasons)};
}

}  // namespace pathproof::verdict
