// Runs that are judged by what is expected of them: --baseline FILE.
#pragma once

#include <optional>
#include <string>

#include "harness/compare/baseline.h"

namespace pathproof::run {

// The failures that a run is expected to show, read before anything is run.
struct Expected {
    std::optional<compare::Baseline> baseline;

    // `file` empty: none.
    static Result<Expected> read(const std::string& file);

    // Marks the known failures in the result, prints on stderr which are known and which are not,
    // and gives the exit code: the baseline's, or `exit_code` where there is none.
    int judge(verdict::RunResult& result, int exit_code) const;
};

}  // namespace pathproof::run
