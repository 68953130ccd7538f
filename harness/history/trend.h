// Trends of cells and figures over a history. Plain values in, conclusions out.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/history/store.h"

namespace pathproof::history {

// A place where a series of values changed its level.
struct ChangePoint {
    std::size_t at = 0;  // the first value of the new level
    double p = 1;
    double before = 0, after = 0;  // medians of the stretches on either side
};

// Change points of a series by Pettitt's test (A. N. Pettitt, "A Non-parametric Approach to the Change-point Problem", Applied Statistics 28(2),
// 1979), whose p value is 2 exp(-6 K^2 / (n^3 + n^2)), at most `level`; both sides of a change are then searched in the same way (binary segmentation). It
// takes no distribution for granted, and a new level some five values to be seen.
std::vector<ChangePoint> change_points(const std::vector<double>& values, double level);

// Runs that can be held against each other: of one lab, class of evidence and device.
std::string line_of(const RunRow& run);

// A figure's values in such runs, the oldest first.
struct FigureTrend {
    std::string id, line, unit;
    std::vector<const RunRow*> runs;
    std::vector<double> values;
    std::vector<ChangePoint> changes;
};

// A cell's verdicts in such runs, the oldest first; those without one (skipped, no verdict) are left out.
struct CellTrend {
    std::string id, line;
    std::vector<const RunRow*> runs;
    std::vector<bool> failed;  // or unstable
    std::vector<std::string> causes;
    // Flips: of two runs in succession on one environment, one failed and one passed, or a run was unstable. `pairs`: of so many.
    std::size_t flips = 0, pairs = 0;
    // The newest run fails: the first of the runs that have failed since, and the last good one before. Null: there is none.
    const RunRow* first_bad = nullptr;
    const RunRow* last_good = nullptr;
};

struct Trends {
    std::vector<FigureTrend> figures;
    std::vector<CellTrend> cells;
    std::size_t runs = 0;
};

// The trends of all cells and figures that match `patterns`. Change points are those at 5 % for all
// figures together (Bonferroni). `runs` are those of the filter, as of Store::list(), and must outlive
// the trends.
Result<Trends> trends_of(Store& store, const std::vector<RunRow>& runs, const Filter& filter,
                         const std::vector<std::string>& patterns);

}  // namespace pathproof::history
