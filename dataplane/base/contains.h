// Search for a value in a list.
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>

namespace pathproof {

// As std::ranges::contains() of C++23: whether an item, or the part of it that a member or a
// function gives, is the value.
template <typename Items, typename Value, typename Part = std::identity>
constexpr bool contains(const Items& items, const Value& value, Part part = {}) {
    return std::ranges::find(items, value, part) != std::end(items);
}

}  // namespace pathproof
