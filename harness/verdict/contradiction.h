// Sentences of a result beside the measures of the same result: what they say of a number or a mechanism
// has to be what was measured.
#pragma once

#include <string>
#include <vector>

#include "harness/verdict/result.h"

namespace pathproof::verdict {

// A sentence each, empty where nothing contradicts. Looked at are "NAME rose by N", "NAME did not rise"
// and "NAME stayed 0" of a measure NAME, and mechanisms that are said to be absent (contradiction.cc).
std::vector<std::string> contradictions(const ScenarioResult& scenario);

}  // namespace pathproof::verdict
