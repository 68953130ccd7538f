// Covering arrays under constraints: few rows in which every feasible combination of values of any
// two, or any three, dimensions occurs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pathproof::matrix {

// Values of one dimension as a bit mask: bit v stands for value v.
using ValueSet = std::uint32_t;
inline constexpr std::size_t kMostValues = 32;
inline constexpr std::size_t kMostDimensions = 24;

// One value for each dimension.
using Values = std::vector<std::uint8_t>;

// Dimensions with their numbers of values, and which values go together. All constraints are
// between two dimensions, so that a partial row can be completed or shown to be hopeless quickly.
class Space {
  public:
    explicit Space(std::vector<std::uint8_t> sizes);

    std::size_t dimensions() const { return sizes_.size(); }
    std::uint8_t size(std::size_t dimension) const { return sizes_[dimension]; }

    // `dimension` may take only values of `allowed`.
    void restrict(std::size_t dimension, ValueSet allowed);
    // Restricts `other` to `allowed` in rows whose `dimension` has one of `values`.
    void require(std::size_t dimension, ValueSet values, std::size_t other, ValueSet allowed);

    ValueSet domain(std::size_t dimension) const { return domains_[dimension]; }
    // Values of `other` that go with `value` of `dimension`.
    ValueSet beside(std::size_t dimension, std::uint8_t value, std::size_t other) const {
        return beside_[(dimension * kMostValues + value) * sizes_.size() + other];
    }
    bool feasible(std::span<const std::uint8_t> row) const;

  private:
    std::vector<std::uint8_t> sizes_;
    std::vector<ValueSet> domains_;
    std::vector<ValueSet> beside_;
};

enum class Strength : std::uint8_t { kPairs = 2, kTriples = 3 };

struct CoveringArray {
    std::vector<Values> rows;
    std::uint64_t feasible_tuples = 0;  // all of them are covered
};

// A greedy array after Cohen, Dalal, Fredman and Patton ("The AETG system", IEEE TSE 23(7), 1997).
// `given` rows come first and count as covered; they must be feasible. The same arguments give the
// same rows. A space without any feasible row gives none.
CoveringArray cover(const Space& space, Strength strength, std::uint64_t seed,
                    std::span<const Values> given = {});

}  // namespace pathproof::matrix
