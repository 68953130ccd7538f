#include "harness/run/exit_code.h"

#include <algorithm>

namespace pathproof::run {
namespace {

int repro_exit_code(verdict::ScenarioVerdict verdict) {
    switch (verdict) {
        case verdict::ScenarioVerdict::kReproduced:
        case verdict::ScenarioVerdict::kDefectFound:
        case verdict::ScenarioVerdict::kMeasured: return 0;
        case verdict::ScenarioVerdict::kExposed:
        case verdict::ScenarioVerdict::kNotReproduced:
        case verdict::ScenarioVerdict::kNoDefectFound: return 1;
        case verdict::ScenarioVerdict::kInconclusive:
        case verdict::ScenarioVerdict::kNotRun: return 3;
    }
    return 3;
}

// A scenario beside the one that was asked for: kernels of what is tested reported faults of their own.
bool has_kernel_fault(const verdict::RunResult& result) {
    return std::ranges::any_of(
        result.scenarios.begin() + 1, result.scenarios.end(), [](const auto& scenario) {
            return scenario.verdict == verdict::ScenarioVerdict::kDefectFound;
        });
}

// 0: nothing wrong; 1: a defect, named or not and whatever else could not be measured, or driver and
// profile disagree; 3: not measured.
int device_exit_code(const verdict::RunResult& result) {
    const verdict::ScenarioResult& scenario = result.scenarios.front();
    if (scenario.verdict == verdict::ScenarioVerdict::kDefectFound || has_kernel_fault(result)) {
        return 1;
    }
    if (result.verdict == verdict::RunVerdict::kIncomplete) {
        return 3;
    }
    const bool failed = std::ranges::any_of(
        scenario.cells, [](const verdict::Cell& cell) { return verdict::fails(cell.verdict); });
    const bool found = std::ranges::any_of(scenario.truth_tables, [](const auto& table) {
        return std::ranges::any_of(table.rows,
                                   [](const auto& row) { return !row.finding.empty(); });
    });
    return failed || found ? 1 : 0;
}

}  // namespace

int exit_code_of(const verdict::RunResult& result) {
    if (result.options.command == "repro") {
        // A headline that says INCOMPLETE is not "reproduced as asked", whatever its scenario shows.
        if (result.verdict == verdict::RunVerdict::kIncomplete) {
            return 3;
        }
        return has_kernel_fault(result) ? 1 : repro_exit_code(result.scenarios.front().verdict);
    }
    if (result.options.command == "offload check") {
        return device_exit_code(result);
    }
    return verdict::exit_code(result.verdict);
}

}  // namespace pathproof::run
