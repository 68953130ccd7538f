// Figures of a run held against acceptance limits: a scenario result with a cell for each, so that every form
// of the report has them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/profile/acceptance.h"
#include "harness/verdict/result.h"

namespace pathproof::acceptance {

inline constexpr const char* kLimits = "limits";  // id of the result

struct Limits {
    std::string source;  // the file, or the profile
    std::string title;
    std::vector<profile::AcceptanceLimit> limits;
};

// A word that a cell's id may be: whatever is not of [A-Za-z0-9._+-] becomes '-'.
std::string as_word(std::string text);

// Reads a file: schema = "pathproof-limits/1", title, and the tables of profile/acceptance.h. kBadInput with
// file, line and column; kNotFound.
Result<Limits> parse_limits(const std::string& text, const std::string& file);
Result<Limits> read_limits(const std::string& file);

// A scenario as limits and requirements may name it.
struct KnownScenario {
    std::string id;
    std::vector<std::string> cells;  // empty: not known before it ran
    struct Figure {
        std::string name, unit;
    };
    std::vector<Figure> figures;  // empty: not known before it ran
};

// kBadInput: a scenario, cell or figure that there is not, or a unit that is not the figure's; names file and
// line, and what there is.
Status check(const Limits& limits, const std::vector<KnownScenario>& known);

// The verdict of each limit for each cell that it names. A cell of the result is PASS where the limit is met,
// FAIL where it is not, INCONCLUSIVE where it could not be tested; it says by which decision. A figure that its
// tester limited is at least as told: where that does not meet a limit, it was not tested.
verdict::ScenarioResult judge(const Limits& limits,
                              const std::vector<verdict::ScenarioResult>& scenarios);

}  // namespace pathproof::acceptance
