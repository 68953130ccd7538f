// Intervals for counted fractions, and the measures and bars made from counts.
#pragma once

#include <cstdint>
#include <string>

#include "harness/verdict/result.h"

namespace pathproof::verdict {

// Wilson's score interval at 95 % for `hits` of `trials`; [0, 1] when nothing was tried. With no
// hits the upper bound is the rule of three's 3/trials, with nothing but hits the lower one is 1 -
// 3/trials. Throughout, more hits than trials is a counting mistake and gives [0, 1].
Interval fraction_interval(std::uint64_t hits, std::uint64_t trials);

// "hits of trials" as a measure in percent, its interval in percent too and the counts in the note.
// With no trials the value is null: nothing was measured.
Measure share(std::string name, std::string label, std::uint64_t hits, std::uint64_t trials);

// The mean of repeated values as a measure, with Student's 95 % interval of it; one value has none. No
// values: it is null.
Measure mean_of(std::string name, std::string label, const std::vector<double>& values,
                std::string unit);

// share() as a bar of a chart in percent.
Bar share_bar(std::string label, std::uint64_t hits, std::uint64_t trials, Bar::Kind kind);

}  // namespace pathproof::verdict
