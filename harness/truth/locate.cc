#include "harness/truth/locate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "dataplane/base/join_each.h"
#include "dataplane/base/plural.h"
#include "dataplane/matrix/covering.h"

namespace pathproof::truth {
namespace {

using matrix::Dimension;
using matrix::kDimensions;
using matrix::Row;
using matrix::ValueSet;
using Sets = std::array<ValueSet, kDimensions>;

Sets values_in(std::span<const Row> rows) {
    Sets sets{};
    for (const Row& row : rows) {
        const auto values = matrix::values_of(row);
        for (std::size_t i = 0; i < kDimensions; ++i) {
            sets[i] |= ValueSet{1} << values[i];
        }
    }
    return sets;
}

bool is_in(const Row& row, std::size_t dimension, ValueSet set) {
    return (set >> matrix::values_of(row)[dimension] & 1) != 0;
}

std::vector<std::string> names_of(std::size_t dimension, ValueSet set) {
    const auto all = matrix::value_names(static_cast<Dimension>(dimension));
    std::vector<std::string> names;
    for (std::size_t value = 0; value < all.size(); ++value) {
        if ((set >> value & 1) != 0) {
            names.emplace_back(all[value]);
        }
    }
    return names;
}

// A dimension's values in failing rows, as the shorter of two lists: those it has, or those it has
// not.
struct Constraint {
    std::size_t dimension;
    std::size_t values;  // that are named
    std::string text;
};

Constraint constraint(std::size_t dimension, ValueSet failing, ValueSet others) {
    const auto inside = names_of(dimension, failing);
    const auto outside = names_of(dimension, others & ~failing);
    const char* name = matrix::name(static_cast<Dimension>(dimension));
    return outside.size() < inside.size()
               ? Constraint{dimension, outside.size(),
                            fmt::format("{} other than {}", name, fmt::join(outside, ", "))}
               : Constraint{dimension, inside.size(),
                            fmt::format("{} {}", name, fmt::join(inside, " or "))};
}

// The dimensions whose failing values keep out most of the rows that still stand, and the same of
// them: none can be told from the others by these rows.
std::vector<std::size_t> sharpest(const Sets& failing, const std::vector<Row>& standing) {
    std::vector<std::size_t> best;
    std::vector<bool> most(standing.size(), false);
    for (std::size_t i = 0; i < kDimensions; ++i) {
        std::vector<bool> out;
        for (const Row& row : standing) {
            out.push_back(!is_in(row, i, failing[i]));
        }
        if (std::ranges::count(out, true) > std::ranges::count(most, true)) {
            most = out;
            best = {i};
        } else if (!best.empty() && out == most) {
            best.push_back(i);
        }
    }
    return best;
}

// The plainest of the constraints, and which dimensions would do as well.
std::string one_of(std::vector<Constraint> constraints) {
    const auto plainest = std::ranges::min_element(constraints, {}, &Constraint::values);
    std::string text = std::move(plainest->text);
    constraints.erase(plainest);
    if (!constraints.empty()) {
        const auto name_of = [](const Constraint& other) {
            return matrix::name(static_cast<Dimension>(other.dimension));
        };
        text +=
            fmt::format(" (these rows do not tell it from {})", join_each(constraints, name_of));
    }
    return text;
}

}  // namespace

std::string locate(std::span<const Row> failing, std::span<const Row> passing) {
    if (passing.empty()) {
        return "everywhere";
    }
    const Sets wrong = values_in(failing);
    const Sets right = values_in(passing);
    std::vector<Row> standing(passing.begin(), passing.end());
    std::vector<std::string> constraints;
    while (!standing.empty()) {
        const std::vector<std::size_t> dimensions = sharpest(wrong, standing);
        if (dimensions.empty()) {
            break;
        }
        std::vector<Constraint> alike;
        for (const std::size_t i : dimensions) {
            alike.push_back(constraint(i, wrong[i], right[i]));
        }
        constraints.push_back(one_of(std::move(alike)));
        std::erase_if(standing, [&](const Row& row) {
            return !is_in(row, dimensions.front(), wrong[dimensions.front()]);
        });
    }
    std::string text =
        constraints.empty() ? "everywhere" : fmt::format("{}", fmt::join(constraints, ", "));
    if (!standing.empty()) {
        text += fmt::format(" ({} with such values pass{})", plural(standing.size(), "row"),
                            standing.size() == 1 ? "es" : "");
    }
    return text;
}

}  // namespace pathproof::truth
