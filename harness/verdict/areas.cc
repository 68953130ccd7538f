// Verdicts by area: the rule of the run, applied to the scenarios that speak of one part of the system.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "dataplane/base/plural.h"
#include "harness/verdict/result.h"

namespace pathproof::verdict {
namespace {

std::vector<std::string> ids_with(const std::vector<ScenarioResult>& scenarios,
                                  bool (*has)(const ScenarioResult&)) {
    std::vector<std::string> ids;
    for (const ScenarioResult& scenario : scenarios) {
        if (has(scenario)) {
            ids.push_back(scenario.id);
        }
    }
    return ids;
}

std::size_t count_measured(const std::vector<ScenarioResult>& scenarios) {
    std::size_t cells = 0;
    for (const ScenarioResult& scenario : scenarios) {
        for (const Cell& cell : all_cells(scenario)) {
            cells += cell.verdict == CellVerdict::kPass || fails(cell.verdict) ? 1 : 0;
        }
    }
    return cells;
}

std::uint64_t count_judged_frames(const std::vector<ScenarioResult>& scenarios) {
    std::uint64_t frames = 0;
    for (const ScenarioResult& scenario : scenarios) {
        for (const TruthTable& table : scenario.truth_tables) {
            for (const TruthRow& row : table.rows) {
                for (const Observation& seen : row.observed) {
                    frames += seen.frames;
                }
            }
        }
    }
    return frames;
}

// "no failure in 64 cells; exposed without harm: dns-race".
std::string nothing_wrong(const std::vector<ScenarioResult>& scenarios) {
    const auto exposed = ids_with(scenarios, [](const ScenarioResult& scenario) {
        return scenario.verdict == ScenarioVerdict::kExposed;
    });
    const bool measured = std::ranges::all_of(scenarios, [](const ScenarioResult& scenario) {
        return scenario.verdict == ScenarioVerdict::kMeasured;
    });
    if (measured) {
        return scenarios.front().headline;
    }
    const std::uint64_t frames = count_judged_frames(scenarios);
    const std::string searched = frames != 0
                                     ? "no defect in " + plural(frames, "judged frame")
                                     : "no failure in " + plural(count_measured(scenarios), "cell");
    return exposed.empty()
               ? searched
               : fmt::format("{}; exposed without harm: {}", searched, fmt::join(exposed, ", "));
}

std::string sentence_of(RunVerdict verdict, const std::vector<std::string>& reasons,
                        const std::vector<ScenarioResult>& scenarios) {
    const auto failed = ids_with(
        scenarios, [](const ScenarioResult& scenario) { return is_failure(scenario.verdict); });
    switch (verdict) {
        case RunVerdict::kQualified: return nothing_wrong(scenarios);
        case RunVerdict::kConditionallyQualified:
            return fmt::format(
                "{} in this run: {}",
                failed.size() == 1
                    ? "1 failure, its cure shown"
                    : fmt::format("{} failures, each with its cure shown", failed.size()),
                fmt::join(failed, ", "));
        case RunVerdict::kNotQualified:
        case RunVerdict::kIncomplete: break;
    }
    return reasons.front();
}

}  // namespace

std::vector<AreaVerdict> judge_areas(const std::vector<ScenarioResult>& scenarios) {
    std::vector<AreaVerdict> areas;
    for (const Area area : {Area::kDevice, Area::kKernelPath, Area::kResolvers, Area::kCni,
                            Area::kPerformance, Area::kAcceptance}) {
        std::vector<ScenarioResult> own;
        std::ranges::copy_if(scenarios, std::back_inserter(own), [&](const ScenarioResult& each) {
            return each.area == area && each.verdict != ScenarioVerdict::kNotRun;
        });
        if (!own.empty()) {
            const auto [verdict, reasons] = judge_run(own);
            areas.push_back({area, verdict, sentence_of(verdict, reasons, own)});
        }
    }
    return areas;
}

}  // namespace pathproof::verdict
