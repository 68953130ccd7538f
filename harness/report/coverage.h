// Coverage of a scenario: the cells that were planned, and their results.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/verdict/result.h"

namespace pathproof::report {

enum class Became {
    kFailed,
    kUnstable,
    kNoVerdict,    // ERROR or INCONCLUSIVE
    kSkipped,      // with a reason
    kNotRun,       // planned, and its experiment did not come to it
    kNotTestable,  // of a truth table: what could not be looked at here
    kPassed,
};
const char* name(Became became);  // "failed", "no verdict", "not testable here"

// Cells with the same result for the same reason.
struct Part {
    Became became = Became::kFailed;
    std::string reason;              // of what was skipped or could not be tested
    std::vector<std::string> cells;  // ids; of what cannot be tested, its offload and condition
};

struct Coverage {
    std::size_t planned = 0;
    std::vector<Part> parts;  // in the order of Became

    std::size_t count(Became became) const;
    std::size_t executed() const;  // failed, unstable, without a verdict or passed
};

// Counts the scenario's cells and controls.
Coverage coverage_of(const verdict::ScenarioResult& scenario);

// "24 planned, 22 executed: 4 failed, 18 passed; 2 skipped".
std::string coverage_text(const Coverage& coverage);

}  // namespace pathproof::report
