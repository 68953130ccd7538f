// Runs that are judged by what is expected of them: --baseline FILE, --strict.
#pragma once

#include <optional>
#include <string>

#include "harness/compare/baseline.h"

namespace pathproof::run {

// The failures that a run may show, read before anything is run.
struct Expected {
    std::optional<compare::Baseline> baseline;
    bool strict =
        false;  // a failure counts although its cure was shown; a baseline's entries do not

    // `file` empty: none.
    static Result<Expected> read(const std::string& file, bool strict = false);

    // Marks the known failures in the result, prints on stderr which are known and which are not, and
    // returns the exit code: the baseline's, or --strict's, or `exit_code`. The run's verdict is made to
    // agree with it.
    int judge(verdict::RunResult& result, int exit_code) const;
};

}  // namespace pathproof::run
