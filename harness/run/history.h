// Runs on their way into the history of this machine or laboratory.
#pragma once

#include <string>

#include "dataplane/base/result.h"
#include "harness/verdict/result.h"

namespace pathproof::run {

struct HistoryChoice {
    std::string target;   // --history: a file or a URI; empty: the user's own
    bool is_off = false;  // --no-history

    // kBadInput: what no history can be.
    Status check() const;
};

// Adds a run to the history. A run never fails because of it: what went wrong is said on standard error.
void remember_run(const verdict::RunResult& run, int exit_code, const HistoryChoice& choice);
// Keeps an interrupted run, which has no time for a database, for the next run to add.
void keep_for_history(const verdict::RunResult& run, int exit_code, const HistoryChoice& choice);

}  // namespace pathproof::run
