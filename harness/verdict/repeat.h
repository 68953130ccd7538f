// A scenario that was run several times, as one result.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/verdict/result.h"

namespace pathproof::verdict {

// The seed of the repetition `number` (1, 2, ...) of a run with this seed: seed + number - 1, so
// that it can be repeated alone. Never 0.
std::uint64_t seed_of_repetition(std::uint64_t seed, std::size_t number);

// At least one repetition, in order; one alone is given as it is.
//
// A cell that passes in all is PASS, in none FAIL, else UNSTABLE; one that came to no verdict in a
// repetition is ERROR or INCONCLUSIVE. Its reason, figures and evidence are those of the first
// repetition that failed by the most frequent cause (or came to no verdict, or, else, passed). The trials
// of its figures are their values in all repetitions that came to a verdict.
//
// The scenario came to what the worst repetition came to: INCONCLUSIVE, also where a control fails
// in any; reproduced or a defect found; exposed; neither. Its cure counts as shown only if each
// repetition reproduced the failure and showed it: one that comes and goes may have gone by itself.
ScenarioResult combine(std::vector<ScenarioResult> repetitions, std::uint64_t seed);

}  // namespace pathproof::verdict
