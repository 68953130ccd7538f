#include "harness/report/outcome.h"

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
            return !cell.known.empty()                                      ? Outcome::kSkipped
                   : role == Role::kControl || role == Role::kDemonstration ? Outcome::kError
                                                                            : Outcome::kFailure;
        case CellVerdict::kError:
        case CellVerdict::kInconclusive: return Outcome::kError;
        case CellVerdict::kSkip: return Outcome::kSkipped;
    }
    return Outcome::kError;
}

Outcome outcome_of(const Cell& cell, Role role, int exit_code) {
    const Outcome red = red_outcome_of(cell, role);
    return exit_code != 0 ? red
           : red == Outcome::kFailure
               ? (cell.verdict == CellVerdict::kFail ? Outcome::kPassed : Outcome::kSkipped)
           : red == Outcome::kError ? Outcome::kSkipped
                                    : red;
}

}  // namespace

bool is_red(Outcome outcome) {
    return outcome == Outcome::kFailure || outcome == Outcome::kError;
}

std::vector<Case> cases_of(const ScenarioResult& scenario, int exit_code) {
    std::vector<Case> cases;
    for (const Cell& cell : scenario.cells) {
        cases.push_back({&cell, cell.role, outcome_of(cell, cell.role, exit_code)});
    }
    for (const Cell& control : scenario.controls) {
        const Role role = role_among_controls(control);
        cases.push_back({&control, role, outcome_of(control, role, exit_code)});
    }
    return cases;
}

Outcome outcome_of_run(int exit_code) {
    return exit_code == 0 ? Outcome::kPassed : exit_code == 1 ? Outcome::kFailure : Outcome::kError;
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
    if (!fails(cell.verdict)) {
        return cell.reason;
    }
    return one.role == Role::kControl
               ? "a control shows the failure, so the scenario proves nothing: " + cell.reason
           : one.role == Role::kDemonstration
               ? "a demonstration does not show what it must: " + cell.reason
               : cell.reason;
}

}  // namespace pathproof::report
