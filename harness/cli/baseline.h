// Runs that are judged by what is expected: --baseline FILE.
#pragma once

#include <optional>
#include <string>

#include "harness/compare/baseline.h"

namespace CLI {
class App;
}

namespace pathproof::cli {

// A baseline that was asked for, read before anything is run.
struct Expected {
    std::optional<compare::Baseline> baseline;

    // `file` empty: none.
    static Result<Expected> read(const std::string& file);

    // Marks what is known in the result, says on stderr what is and what is not, and gives the exit
    // code: of the baseline, or `exit_code` where there is none.
    int judge(verdict::RunResult& result, int exit_code) const;
};

void add_baseline_option(CLI::App& command, std::string& file);

}  // namespace pathproof::cli
