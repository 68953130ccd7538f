// Finds the grid in a list of cells: which toggles span it, and which cell lies where.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/verdict/result.h"

namespace pathproof::report {

struct Matrix {
    using Values = std::vector<std::string>;  // one value for each axis

    std::vector<std::string> row_axes;
    std::vector<std::string> column_axes;
    std::vector<Values> rows;     // every combination of the row axes' values, first axis slowest
    std::vector<Values> columns;  // likewise
    std::vector<std::pair<std::string, std::string>> constants;  // toggles that all its cells share
    std::map<std::pair<std::size_t, std::size_t>, const verdict::Cell*> cells;  // by row and column
    std::vector<const verdict::Cell*> rest;  // cells that are not in the grid, in their order

    bool empty() const { return cells.empty(); }
};

// The largest set of cells with the same toggles becomes the grid if at least two toggles vary in
// it and it fills at least half of the combinations; otherwise every cell is in `rest`. The cells
// must outlive the result.
Matrix lay_out(const std::vector<verdict::Cell>& cells);

}  // namespace pathproof::report
