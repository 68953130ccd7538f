#include "harness/report/outcome.h"

#include <fmt/format.h>

#include <algorithm>

namespace pathproof::report {
namespace {

using namespace verdict;
using Role = Cell::Role;

// A control that fails and a demonstration that does not show what it must are no fault of the
// system.
Outcome red_outcome_of(const Cell& cell, Role role) {
    switch (cell.verdict) {
        case CellVerdict::kPass: return Outcome::kPassed;
        case CellVerdict::kFail:
        case CellVerdict::kUnstable:
            if (!cell.known.empty()) {
                return Outcome::kSkipped;
            }
            return role == Role::kControl || role == Role::kDemonstration ? Outcome::kError
                                                                          : Outcome::kFailure;
        case CellVerdict::kError:
        case CellVerdict::kInconclusive: return Outcome::kError;
        case CellVerdict::kSkip: return Outcome::kSkipped;
    }
    return Outcome::kError;
}

Case case_of(const ScenarioResult& scenario, const Cell& cell, Role role, int exit_code) {
    const Outcome red = red_outcome_of(cell, role);
    if (exit_code != 0 || !is_red(red)) {
        return {&cell, role, red};
    }
    Case accepted{&cell, role, Outcome::kSkipped};
    if (red == Outcome::kFailure && cell.verdict == CellVerdict::kFail) {
        accepted.condition = scenario.cure.empty() ? scenario.headline : scenario.cure;
    }
    return accepted;
}

}  // namespace

bool is_red(Outcome outcome) {
    return outcome == Outcome::kFailure || outcome == Outcome::kError;
}

std::vector<Case> cases_of(const ScenarioResult& scenario, int exit_code) {
    std::vector<Case> cases;
    for (const Cell& cell : scenario.cells) {
        cases.push_back(case_of(scenario, cell, cell.role, exit_code));
    }
    for (const Cell& control : scenario.controls) {
        cases.push_back(case_of(scenario, control, role_among_controls(control), exit_code));
    }
    return cases;
}

Outcome outcome_of_run(int exit_code) {
    switch (exit_code) {
        case 0: return Outcome::kPassed;
        case 1: return Outcome::kFailure;
        default: return Outcome::kError;
    }
}

void Tally::add(Outcome outcome) {
    ++tests;
    failures += outcome == Outcome::kFailure ? 1 : 0;
    errors += outcome == Outcome::kError ? 1 : 0;
    skipped += outcome == Outcome::kSkipped ? 1 : 0;
}

void Tally::add(const std::vector<Case>& cases) {
    for (const Case& one : cases) {
        add(one.outcome);
    }
}

std::string message_of(const Case& one) {
    const Cell& cell = *one.cell;
    if (!cell.known.empty()) {
        return "known failure: " + cell.known + ": " + cell.reason;
    }
    if (!one.condition.empty()) {
        return fmt::format("condition: {} (as found: {})", one.condition, cell.reason);
    }
    if (!fails(cell.verdict)) {
        return cell.reason;
    }
    if (one.role == Role::kControl) {
        return "a control shows the failure, so the scenario proves nothing: " + cell.reason;
    }
    if (one.role == Role::kDemonstration) {
        return "a demonstration does not show what it must: " + cell.reason;
    }
    return cell.reason;
}

std::string condition_of(const std::vector<Case>& cases) {
    for (const Case& one : cases) {
        if (!one.condition.empty()) {
            return one.condition;
        }
    }
    return "";
}

bool nothing_executed(const std::vector<Case>& cases) {
    return std::ranges::all_of(
        cases, [](const Case& one) { return one.cell->verdict == CellVerdict::kSkip; });
}

}  // namespace pathproof::report
