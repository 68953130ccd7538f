// Exit codes for `git bisect run` (git-bisect(1)): 0 the failure is absent, 1 it is present, 125
// this revision cannot be judged.
#pragma once

#include <string>

#include "harness/verdict/result.h"

namespace pathproof::verdict {

inline constexpr int kBisectAbsent = 0;
inline constexpr int kBisectPresent = 1;
inline constexpr int kBisectSkip = 125;

// Returns the code of a scenario, or of one of its cells if `cell` is not empty. It is kBisectSkip
// for a failure that is exposed and harms nobody or that occurs only at times, and for what was
// skipped or could not be measured.
int bisect_code(const RunResult& run, const std::string& scenario, const std::string& cell);

}  // namespace pathproof::verdict
