// Intervals for counted fractions.
#pragma once

#include <cstdint>

#include "harness/verdict/result.h"

namespace pathproof::verdict {

// Wilson's score interval at 95 % for `hits` of `trials`; [0, 1] when nothing was tried. With no hits the
// upper bound is the rule of three's 3/trials, with nothing but hits the lower one is 1 - 3/trials.
Interval fraction_interval(std::uint64_t hits, std::uint64_t trials);

}  // namespace pathproof::verdict
