// What a run says to `git bisect run` (git-bisect(1)): 0 the failure is absent, 1 it is present, 125
// nothing is said of this one.
#pragma once

#include <string>

#include "harness/verdict/result.h"

namespace pathproof::verdict {

inline constexpr int kBisectAbsent = 0;
inline constexpr int kBisectPresent = 1;
inline constexpr int kBisectSkip = 125;

// Of a scenario or (not empty) one of its cells. What happens and harms nobody, what could not be
// measured, was skipped or fails at times only, is neither.
int bisect_code(const RunResult& run, const std::string& scenario, const std::string& cell);

}  // namespace pathproof::verdict
