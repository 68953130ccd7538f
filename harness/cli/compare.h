// Reports held against the first of them: what `compare` and `rerun` end with.
#pragma once

#include <string>
#include <vector>

#include "harness/compare/read.h"
#include "harness/run/expected.h"

namespace CLI {
class App;
}

namespace pathproof::cli {

struct ComparisonViews {
    std::string html;  // a file; empty: none
    std::string baseline;
    bool json = false;
};

// Says what changed from the first report to each of the others. Gives the exit code (0 no worse, 1
// worse), or what went wrong.
Result<int> compare_reports(const std::vector<compare::Report>& reports,
                            const run::Expected& expected, const ComparisonViews& views,
                            const compare::Noise& noise = {});

// Kernel, versions and settings of this machine beside those of a report, as far as they can be read without a run.
std::vector<compare::Difference> differences_from_here(const compare::Report& report);

// --json, --html and --baseline.
void add_comparison_options(CLI::App& command, ComparisonViews& views);

}  // namespace pathproof::cli
