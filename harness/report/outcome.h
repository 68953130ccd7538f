// Outcome of a cell for CI: the one reading that junit.xml, KTAP and the Markdown summary show.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/verdict/result.h"

namespace pathproof::report {

enum class Outcome { kPassed, kFailure, kError, kSkipped };
bool is_red(Outcome outcome);  // a failure or an error

// A cell or control of a scenario. Never passed unless the cell passed: skipped are a failure that a
// baseline knows, and, in a run that ends with 0, a failure whose cure was shown (`condition`: that cure),
// an unstable cell, and what is no failure of the system.
struct Case {
    const verdict::Cell* cell;
    verdict::Cell::Role role;
    Outcome outcome;
    std::string condition = {};

    // KTAP calls it XFAIL: it failed, and that is accepted.
    bool is_accepted_failure() const {
        return outcome == Outcome::kSkipped && (!cell->known.empty() || !condition.empty());
    }
};

// Cells, then controls, of a run that ends with `exit_code`.
std::vector<Case> cases_of(const verdict::ScenarioResult& scenario, int exit_code);

// Returns the outcome of the run as a whole: a run that executed nothing must not look green.
Outcome outcome_of_run(int exit_code);

struct Tally {
    std::size_t tests = 0;
    std::size_t failures = 0;
    std::size_t errors = 0;
    std::size_t skipped = 0;

    void add(Outcome outcome);
    void add(const std::vector<Case>& cases);
};

// Returns, in one sentence, why a case is not simply passed.
std::string message_of(const Case& one);

// The conditions of a scenario's accepted failures; empty: it has none.
std::string condition_of(const std::vector<Case>& cases);
// Returns whether nothing of the scenario was executed.
bool nothing_executed(const std::vector<Case>& cases);

}  // namespace pathproof::report
