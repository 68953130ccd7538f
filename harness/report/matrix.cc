#include "harness/report/matrix.h"

#include <algorithm>
#include <iterator>

namespace pathproof::report {
namespace {

using verdict::Cell;
using Values = Matrix::Values;

// More than this does not fit on a page as a grid.
constexpr std::size_t kMostRowsOrColumns = 16;

struct Axis {
    std::string name;
    Values values;  // in order of appearance
};

std::vector<std::string> axis_names(const Cell& cell) {
    std::vector<std::string> names;
    for (const auto& [axis, value] : cell.toggles) {
        names.push_back(axis);
    }
    return names;
}

// The axes that most cells have.
std::vector<std::string> commonest_axes(const std::vector<Cell>& cells) {
    std::map<std::vector<std::string>, std::size_t> counts;
    for (const Cell& cell : cells) {
        ++counts[axis_names(cell)];
    }
    const auto most =
        std::ranges::max_element(counts, {}, [](const auto& axes) { return axes.second; });
    return most == counts.end() ? std::vector<std::string>() : most->first;
}

std::vector<Axis> collect_axes(const std::vector<const Cell*>& members) {
    std::vector<Axis> axes;
    for (const auto& [axis, value] : members.front()->toggles) {
        axes.push_back({axis, {}});
    }
    for (const Cell* cell : members) {
        for (std::size_t at = 0; at < axes.size(); ++at) {
            Values& values = axes[at].values;
            const std::string& value = cell->toggles[at].second;
            if (std::ranges::find(values, value) == values.end()) {
                values.push_back(value);
            }
        }
    }
    return axes;
}

std::vector<Values> combinations(const std::vector<Axis>& axes) {
    std::vector<Values> all{{}};
    for (const Axis& axis : axes) {
        std::vector<Values> longer;
        for (const Values& start : all) {
            for (const std::string& value : axis.values) {
                longer.push_back(start);
                longer.back().push_back(value);
            }
        }
        all = std::move(longer);
    }
    return all;
}

std::size_t product(const std::vector<Axis>& axes) {
    std::size_t count = 1;
    for (const Axis& axis : axes) {
        count *= axis.values.size();
    }
    return count;
}

Values values_of(const Cell& cell, const std::vector<std::string>& axes) {
    Values values;
    for (const std::string& axis : axes) {
        for (const auto& toggle : cell.toggles) {
            if (toggle.first == axis) {
                values.push_back(toggle.second);
            }
        }
    }
    return values;
}

std::size_t position(const std::vector<Values>& all, const Values& wanted) {
    return static_cast<std::size_t>(std::ranges::find(all, wanted) - all.begin());
}

Matrix list_only(const std::vector<Cell>& cells) {
    Matrix matrix;
    for (const Cell& cell : cells) {
        matrix.rest.push_back(&cell);
    }
    return matrix;
}

}  // namespace

Matrix lay_out(const std::vector<Cell>& cells) {
    const auto common = commonest_axes(cells);
    std::vector<const Cell*> members;
    for (const Cell& cell : cells) {
        if (axis_names(cell) == common) {
            members.push_back(&cell);
        }
    }
    if (members.size() < 4 || common.size() < 2) {
        return list_only(cells);
    }
    Matrix matrix;
    std::vector<Axis> varying;
    for (Axis& axis : collect_axes(members)) {
        if (axis.values.size() > 1) {
            varying.push_back(std::move(axis));
        } else {
            matrix.constants.emplace_back(axis.name, axis.values.front());
        }
    }
    const auto half = static_cast<std::ptrdiff_t>(varying.size() / 2);
    const std::vector<Axis> row_axes(varying.begin(), varying.begin() + half);
    const std::vector<Axis> column_axes(varying.begin() + half, varying.end());
    if (varying.size() < 2 || product(row_axes) > kMostRowsOrColumns ||
        product(column_axes) > kMostRowsOrColumns || members.size() * 2 < product(varying)) {
        return list_only(cells);
    }
    std::ranges::transform(row_axes, std::back_inserter(matrix.row_axes), &Axis::name);
    std::ranges::transform(column_axes, std::back_inserter(matrix.column_axes), &Axis::name);
    matrix.rows = combinations(row_axes);
    matrix.columns = combinations(column_axes);
    for (const Cell& cell : cells) {
        const bool member = axis_names(cell) == common;
        const std::pair place{position(matrix.rows, values_of(cell, matrix.row_axes)),
                              position(matrix.columns, values_of(cell, matrix.column_axes))};
        if (!member || !matrix.cells.emplace(place, &cell).second) {
            matrix.rest.push_back(&cell);
        }
    }
    return matrix;
}

}  // namespace pathproof::report
