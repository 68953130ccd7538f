// Structs that hold nothing but 64-bit counts: added up, and taken from each other, member by
// member.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

namespace pathproof {

template <typename T>
using EachCount = std::array<std::uint64_t, sizeof(T) / sizeof(std::uint64_t)>;

// Returns whether a T can be made of that many counts: not if any member is narrower, signed or no
// number.
template <typename T, std::size_t... index>
consteval bool is_made_of_counts(std::index_sequence<index...> /*each*/) {
    return requires(std::uint64_t count) {
        T{(static_cast<void>(index), count)...};
    };
}

template <typename T>
concept Counts =
    is_made_of_counts<T>(std::make_index_sequence<sizeof(T) / sizeof(std::uint64_t)>());

template <Counts T, typename Operation>
constexpr T each_count(const T& one, const T& other, Operation operation) {
    auto counts = std::bit_cast<EachCount<T>>(one);
    std::ranges::transform(counts, std::bit_cast<EachCount<T>>(other), counts.begin(), operation);
    return std::bit_cast<T>(counts);
}

template <Counts T>
constexpr void add_counts(T& to, const T& more) {
    to = each_count(to, more, std::plus());
}

// Returns the counts added between two readings.
template <Counts T>
constexpr T counts_between(const T& before, const T& after) {
    return each_count(after, before, std::minus());
}

}  // namespace pathproof
