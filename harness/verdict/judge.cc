// The verdict of a run, from its scenarios alone.
#include <fmt/format.h>

#include <algorithm>

#include "harness/verdict/result.h"

namespace pathproof::verdict {
namespace {

using Reasons = std::vector<std::string>;

std::size_t count(const std::vector<Cell>& cells, CellVerdict verdict) {
    return static_cast<std::size_t>(std::count_if(
        cells.begin(), cells.end(), [&](const Cell& cell) { return cell.verdict == verdict; }));
}

std::string because(const std::string& reason) {
    return reason.empty() ? "" : ": " + reason;
}

// What keeps any single cell from being a measurement; nothing for one that was measured.
void find_unmeasured(const std::string& scenario, const char* kind, const Cell& cell,
                     Reasons& found) {
    switch (cell.verdict) {
        case CellVerdict::kPass:
        case CellVerdict::kFail:
            return;
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

// What a scenario that found something calls it.
const char* failure_word(const ScenarioResult& scenario) {
    return is_truth(scenario.verdict) ? "a defect was found" : "the failure was reproduced";
}

void find_gaps_of_failure(const ScenarioResult& scenario, Reasons& found) {
    if (count(scenario.cells, CellVerdict::kFail) == 0) {
        found.push_back(fmt::format("{}: it says {}, but no cell shows the failure", scenario.id,
                                    name(scenario.verdict)));
    }
    const bool may_lack_controls = is_truth(scenario.verdict) && scenario.controls.empty();
    if (!may_lack_controls && count(scenario.controls, CellVerdict::kPass) == 0) {
        found.push_back(fmt::format("{}: {}, and no negative control passed beside it", scenario.id,
                                    failure_word(scenario)));
    }
}

// What makes the scenario no basis for a verdict, most important first.
void find_gaps(const ScenarioResult& scenario, Reasons& found) {
    for (const Cell& control : scenario.controls) {
        if (control.verdict == CellVerdict::kFail) {
            found.push_back(
                fmt::format("{}: control {} shows the failure too, so the measurement proves "
                            "nothing{}",
                            scenario.id, control.id, because(control.reason)));
        }
        find_unmeasured(scenario.id, "control", control, found);
    }
    for (const Cell& cell : scenario.cells) {
        find_unmeasured(scenario.id, "cell", cell, found);
    }
    if (scenario.unexplained > 0) {
        found.push_back(fmt::format("{}: {} lost or wrong answers could not be joined to a cause",
                                    scenario.id, scenario.unexplained));
    }
    const std::size_t executed = scenario.cells.size() - count(scenario.cells, CellVerdict::kSkip);
    if (executed == 0) {
        found.push_back(
            fmt::format("{}: nothing was executed{}", scenario.id, because(scenario.headline)));
    } else if (scenario.verdict == ScenarioVerdict::kInconclusive) {
        found.push_back(fmt::format("{}: the result is inconclusive{}", scenario.id,
                                    because(scenario.headline)));
    } else if (is_failure(scenario.verdict)) {
        find_gaps_of_failure(scenario, found);
    }
}

// What speaks against the path under test.
void find_faults(const ScenarioResult& scenario, Reasons& found) {
    if (scenario.verdict == ScenarioVerdict::kInconclusive) {
        return;
    }
    if (!is_failure(scenario.verdict)) {
        if (const std::size_t failed = count(scenario.cells, CellVerdict::kFail); failed > 0) {
            found.push_back(fmt::format(
                "{}: {} of {} cells fail, and not from {}", scenario.id, failed,
                scenario.cells.size(),
                is_truth(scenario.verdict) ? "a wrong frame" : "the failure it looks for"));
        }
        return;
    }
    if (scenario.cause.empty()) {
        found.push_back(fmt::format("{}: {}, but its cause was not named", scenario.id,
                                    failure_word(scenario)));
    }
    if (!scenario.cure_shown) {
        found.push_back(fmt::format("{}: {}, and no cure was shown in this run", scenario.id,
                                    failure_word(scenario)));
    }
}

std::string exception_of(const ScenarioResult& scenario) {
    return fmt::format("{}: {}, its cause named and its cure shown in this run", scenario.id,
                       failure_word(scenario));
}

std::string nothing_found(const std::vector<ScenarioResult>& scenarios) {
    const auto truths =
        std::count_if(scenarios.begin(), scenarios.end(),
                      [](const ScenarioResult& scenario) { return is_truth(scenario.verdict); });
    const char* what = truths == 0 ? "no scenario reproduced its failure"
                       : truths == static_cast<std::ptrdiff_t>(scenarios.size())
                           ? "no defect was found"
                           : "no scenario reproduced its failure or found a defect";
    return fmt::format("{}, and every control passed", what);
}

}  // namespace

std::pair<RunVerdict, std::vector<std::string>> judge_run(
    const std::vector<ScenarioResult>& scenarios) {
    if (scenarios.empty()) {
        return {RunVerdict::kIncomplete, {"no scenario was run"}};
    }
    Reasons gaps;
    Reasons faults;
    Reasons exceptions;
    for (const ScenarioResult& scenario : scenarios) {
        find_gaps(scenario, gaps);
        find_faults(scenario, faults);
        if (is_failure(scenario.verdict)) {
            exceptions.push_back(exception_of(scenario));
        }
    }
    if (!gaps.empty()) {
        gaps.insert(gaps.end(), faults.begin(), faults.end());
        return {RunVerdict::kIncomplete, std::move(gaps)};
    }
    if (!faults.empty()) {
        return {RunVerdict::kNotQualified, std::move(faults)};
    }
    if (!exceptions.empty()) {
        return {RunVerdict::kQualifiedWithExceptions, std::move(exceptions)};
    }
    return {RunVerdict::kQualified, {nothing_found(scenarios)}};
}

}  // namespace pathproof::verdict
