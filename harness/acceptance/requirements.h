// The clauses of a plan, each with the cells that speak for it: met, not met or not tested.
//
//   schema = "pathproof-requirements/1"
//   plan   = "OCP NIC Core Features 1.0"
//   [[requirement]]
//   clause = "5.3.1"
//   text   = "Transmit checksum offload of IPv4 and IPv6"
//   cells  = ["offload-truth/tx.*", "limits/4.2.1.*"]          # SCENARIO/CELL, patterns
#pragma once

#include <string>
#include <vector>

#include "harness/acceptance/figure_limits.h"

namespace pathproof::acceptance {

inline constexpr const char* kRequirements = "requirements";  // id of the result

struct Requirement {
    std::string clause;
    std::string text;
    std::vector<std::string> cells;
    std::string where;
};

struct Requirements {
    std::string source;
    std::string plan;
    std::vector<Requirement> requirements;
};

// kBadInput with file, line and column; kNotFound.
Result<Requirements> parse_requirements(const std::string& text, const std::string& file);
Result<Requirements> read_requirements(const std::string& file);

// kBadInput: a scenario or cell that there is not. `limits`: of the run; null: it has none.
Status check(const Requirements& requirements, const std::vector<KnownScenario>& known,
             const Limits* limits);

// A cell for each clause: PASS where it is met (each pattern names a cell that passed and none that fails), FAIL
// where a cell fails, SKIP where it was not tested, and why. Its proof is the matrix of clauses and cells.
verdict::ScenarioResult judge(const Requirements& requirements,
                              const std::vector<verdict::ScenarioResult>& scenarios);

}  // namespace pathproof::acceptance
