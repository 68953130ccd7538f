// The end of a run: its report is written, and its exit code is known.
#pragma once

#include <functional>
#include <string>

#include "harness/run/history.h"
#include "harness/verdict/result.h"

namespace pathproof::run {

// Writes the report of a run that gives `exit_code` into `out_dir` (empty: none), has `print` show
// the verdict and the report's place (empty: nowhere), adds the run to its history, and says what was
// lost. `bundle`: a file that the report as it was written is packed into; empty: none. Gives the exit
// code: 3 where something of the report was lost.
int publish(const verdict::RunResult& result, const std::string& out_dir, int exit_code,
            const HistoryChoice& history,
            const std::function<void(const std::string& report)>& print,
            const std::string& bundle = "");

}  // namespace pathproof::run
