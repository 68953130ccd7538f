// What CI is to make of a cell: the one reading that junit.xml, KTAP and the Markdown summary are
// views of.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/verdict/result.h"

namespace pathproof::report {

enum class Outcome { kPassed, kFailure, kError, kSkipped };
bool is_red(Outcome outcome);  // a failure or an error

// A cell or control of a scenario. A failure that a baseline knows is skipped; so is, in a run that
// ends with 0, what is no failure of the system or is unstable.
struct Case {
    const verdict::Cell* cell;
    verdict::Cell::Role role;
    Outcome outcome;
};

// Cells, then controls, of a run that ends with `exit_code`.
std::vector<Case> cases_of(const verdict::ScenarioResult& scenario, int exit_code);

// Of the run as a whole: one that executed nothing must not look green.
Outcome outcome_of_run(int exit_code);

struct Tally {
    std::size_t tests = 0;
    std::size_t failures = 0;
    std::size_t errors = 0;
    std::size_t skipped = 0;

    void add(Outcome outcome);
    void add(const std::vector<Case>& cases);
};

// Why a case is not simply passed, in one sentence.
std::string message_of(const Case& one);

}  // namespace pathproof::report
