// The exit code of a run.
#pragma once

#include "harness/verdict/result.h"

namespace pathproof::run {

// Returns the exit code by the rules of the command that asked for the run.
int exit_code_of(const verdict::RunResult& result);

}  // namespace pathproof::run
