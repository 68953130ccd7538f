// Figures of two runs side by side, and how much they differ between runs of one and the same system.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "harness/compare/compare.h"

namespace pathproof::compare {

// Calls `visit` for each number that both runs have, in the same unit: of cells, how often a repeated cell failed, and of loads
// under a cure ("prices/CURE/LOAD"). `cell` is the id in front of the figure's own name.
using VisitFigures = std::function<void(const std::string& cell, const verdict::Measure& before,
                                        const verdict::Measure& now)>;
void visit_common_figures(const verdict::RunResult& before, const verdict::RunResult& now,
                          const VisitFigures& visit);

// Judges all of them together and adds them to `result`.
void compare_figures(const verdict::RunResult& before, const verdict::RunResult& now,
                     const Noise& noise, Comparison& result);

}  // namespace pathproof::compare
