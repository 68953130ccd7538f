#include "harness/offload/locate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "dataplane/matrix/covering.h"

namespace pathproof::offload {
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

// With the shorter of the two lists: what it is, or what it is not.
std::string constraint(std::size_t dimension, ValueSet failing, ValueSet others) {
    const auto inside = names_of(dimension, failing);
    const auto outside = names_of(dimension, others & ~failing);
    const char* name = matrix::name(static_cast<Dimension>(dimension));
    if (outside.size() < inside.size()) {
        return fmt::format("{} other than {}", name, fmt::join(outside, ", "));
    }
    return fmt::format("{} {}", name, fmt::join(inside, " or "));
}

// The dimension whose failing values keep out most of the rows that still stand.
std::size_t sharpest(const Sets& failing, const std::vector<Row>& standing, std::size_t& kept_out) {
    std::size_t best = kDimensions;
    kept_out = 0;
    for (std::size_t i = 0; i < kDimensions; ++i) {
        const auto out = static_cast<std::size_t>(std::ranges::count_if(
            standing, [&](const Row& row) { return !is_in(row, i, failing[i]); }));
        if (out > kept_out) {
            kept_out = out;
            best = i;
        }
    }
    return best;
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
        std::size_t kept_out = 0;
        const std::size_t dimension = sharpest(wrong, standing, kept_out);
        if (kept_out == 0) {
            break;
        }
        constraints.push_back(constraint(dimension, wrong[dimension], right[dimension]));
        std::erase_if(standing,
                      [&](const Row& row) { return !is_in(row, dimension, wrong[dimension]); });
    }
    std::string text =
        constraints.empty() ? "everywhere" : fmt::format("{}", fmt::join(constraints, ", "));
    if (!standing.empty()) {
        text += fmt::format(" ({} rows with such values pass)", standing.size());
    }
    return text;
}

}  // namespace pathproof::offload
