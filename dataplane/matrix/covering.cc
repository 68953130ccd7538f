#include "dataplane/matrix/covering.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>

#include "dataplane/base/random.h"

namespace pathproof::matrix {
namespace {

constexpr std::uint8_t kOpen = 0xff;  // a dimension without value yet
constexpr int kCandidates = 8;        // rows tried for each row taken

ValueSet bit(std::uint8_t value) {
    return ValueSet{1} << value;
}

// A row that is being filled in, and the values that its open dimensions can still take.
class Draft {
  public:
    explicit Draft(const Space& space) : space_(&space), dimensions_(space.dimensions()) {
        row_.fill(kOpen);
        for (std::size_t d = 0; d < dimensions_; ++d) {
            left_[d] = space.domain(d);
        }
    }

    std::span<const std::uint8_t> row() const { return {row_.data(), dimensions_}; }
    bool open(std::size_t dimension) const { return row_[dimension] == kOpen; }
    ValueSet left(std::size_t dimension) const { return left_[dimension]; }

    // False if that leaves a dimension without value.
    bool set(std::size_t dimension, std::uint8_t value) {
        if ((left_[dimension] & bit(value)) == 0) {
            return false;
        }
        row_[dimension] = value;
        left_[dimension] = bit(value);
        for (std::size_t other = 0; other < dimensions_; ++other) {
            left_[other] &= space_->beside(dimension, value, other);
            if (left_[other] == 0) {
                return false;
            }
        }
        return true;
    }

    // Returns whether some feasible row has all values set so far.
    bool can_be_completed() const {
        std::size_t narrowest = dimensions_;
        for (std::size_t d = 0; d < dimensions_; ++d) {
            if (open(d) && (narrowest == dimensions_ ||
                            std::popcount(left_[d]) < std::popcount(left_[narrowest]))) {
                narrowest = d;
            }
        }
        if (narrowest == dimensions_) {
            return true;
        }
        for (ValueSet values = left_[narrowest]; values != 0; values &= values - 1) {
            Draft further = *this;
            const auto value = static_cast<std::uint8_t>(std::countr_zero(values));
            if (further.set(narrowest, value) && further.can_be_completed()) {
                return true;
            }
        }
        return false;
    }

  private:
    const Space* space_;
    std::size_t dimensions_;
    std::array<std::uint8_t, kMostDimensions> row_;
    std::array<ValueSet, kMostDimensions> left_{};
};

// Dimensions in ascending order with a value each; `count` of them are used.
struct Tuple {
    std::uint8_t dimension[3] = {};
    std::uint8_t value[3] = {};
    std::size_t count = 0;
};

// Account of the tuples that exist, and of those that no row has yet.
class Tally {
  public:
    Tally(const Space& space, std::size_t strength) : space_(space), strength_(strength) {
        lay_out();
        for (std::size_t index = 0; index < tuples_.size(); ++index) {
            wanted_[index] = exists(tuples_[index]);
            feasible_ += wanted_[index];
        }
        missing_ = feasible_;
    }

    std::uint64_t feasible() const { return feasible_; }
    std::uint64_t missing() const { return missing_; }

    // A missing tuple at or behind `from`, going round. There must be one.
    const Tuple& next_missing(std::size_t from) const {
        std::size_t index = from % tuples_.size();
        while (wanted_[index] == 0) {
            index = (index + 1) % tuples_.size();
        }
        return tuples_[index];
    }
    std::size_t tuples() const { return tuples_.size(); }

    // Returns how many more missing tuples `row` would have if `dimension` took `value`. Open
    // dimensions do not count.
    std::uint32_t gain(std::span<const std::uint8_t> row, std::size_t dimension,
                       std::uint8_t value) const {
        std::uint32_t gained = 0;
        for_tuples_with(row, dimension, value,
                        [&](std::size_t index) { gained += wanted_[index]; });
        return gained;
    }

    // Ticks off what a complete row has.
    void take(const Values& row) {
        Values begun(row.size(), kOpen);
        for (std::size_t d = 0; d < row.size(); ++d) {
            for_tuples_with(begun, d, row[d], [&](std::size_t index) {
                missing_ -= wanted_[index];
                wanted_[index] = 0;
            });
            begun[d] = row[d];
        }
    }

  private:
    bool exists(const Tuple& tuple) const {
        Draft draft(space_);
        for (std::size_t i = 0; i < tuple.count; ++i) {
            if (!draft.set(tuple.dimension[i], tuple.value[i])) {
                return false;
            }
        }
        return draft.can_be_completed();
    }

    void lay_out() {
        const std::size_t n = space_.dimensions();
        base_.assign(n * n * n, 0);
        for (std::size_t a = 0; a < n; ++a) {
            for (std::size_t b = a + 1; b < n; ++b) {
                if (strength_ == 2) {
                    add({static_cast<std::uint8_t>(a), static_cast<std::uint8_t>(b)});
                    continue;
                }
                for (std::size_t c = b + 1; c < n; ++c) {
                    add({static_cast<std::uint8_t>(a), static_cast<std::uint8_t>(b),
                         static_cast<std::uint8_t>(c)});
                }
            }
        }
        wanted_.assign(tuples_.size(), 0);
    }

    // All values of some dimensions, the last one running fastest.
    void add(std::initializer_list<std::uint8_t> dimensions) {
        Tuple tuple{.count = dimensions.size()};
        std::ranges::copy(dimensions, tuple.dimension);
        base_[place(tuple.dimension)] = static_cast<std::uint32_t>(tuples_.size());
        for (;;) {
            tuples_.push_back(tuple);
            std::size_t at = tuple.count;
            while (at > 0 && ++tuple.value[at - 1] == space_.size(tuple.dimension[at - 1])) {
                tuple.value[--at] = 0;
            }
            if (at == 0) {
                return;
            }
        }
    }

    std::size_t place(const std::uint8_t (&dimension)[3]) const {
        const std::size_t n = space_.dimensions();
        return (dimension[0] * n + dimension[1]) * n + (strength_ == 3 ? dimension[2] : 0u);
    }

    // Calls with the index of each tuple made of dimension = value and values that `row` has.
    template <typename Call>
    void for_tuples_with(std::span<const std::uint8_t> row, std::size_t dimension,
                         std::uint8_t value, const Call& call) const {
        const auto d = static_cast<std::uint8_t>(dimension);
        for (std::uint8_t a = 0; a < row.size(); ++a) {
            if (a == d || row[a] == kOpen) {
                continue;
            }
            if (strength_ == 2) {
                call(a < d ? index({a, d}, {row[a], value}) : index({d, a}, {value, row[a]}));
                continue;
            }
            for (std::uint8_t b = static_cast<std::uint8_t>(a + 1); b < row.size(); ++b) {
                if (b == d || row[b] == kOpen) {
                    continue;
                }
                call(index_with(row, a, b, d, value));
            }
        }
    }

    // Index of the tuple of d = value and the row's values of a and b; a < b, d lies anywhere.
    std::size_t index_with(std::span<const std::uint8_t> row, std::uint8_t a, std::uint8_t b,
                           std::uint8_t d, std::uint8_t value) const {
        if (b < d) {
            return index({a, b, d}, {row[a], row[b], value});
        }
        if (a < d) {
            return index({a, d, b}, {row[a], value, row[b]});
        }
        return index({d, a, b}, {value, row[a], row[b]});
    }

    std::size_t index(const std::uint8_t (&dimension)[3], const std::uint8_t (&value)[3]) const {
        std::size_t within = value[0];
        for (std::size_t i = 1; i < strength_; ++i) {
            within = within * space_.size(dimension[i]) + value[i];
        }
        return base_[place(dimension)] + within;
    }

    const Space& space_;
    const std::size_t strength_;
    std::vector<std::uint32_t> base_;  // of the first tuple of some dimensions
    std::vector<Tuple> tuples_;
    std::vector<std::uint8_t> wanted_;
    std::uint64_t feasible_ = 0;
    std::uint64_t missing_ = 0;
};

class Greedy {
  public:
    Greedy(const Space& space, Tally& tally, std::uint64_t seed)
        : space_(space), tally_(tally), random_(seed) {}

    // The best of some rows, each begun with a missing tuple and filled in random order.
    Values next_row() {
        Candidate best;
        for (int i = 0; i < kCandidates; ++i) {
            Candidate candidate = grow(tally_.next_missing(random_.below(tally_.tuples())));
            if (best.row.empty() || candidate.gained > best.gained) {
                best = std::move(candidate);
            }
        }
        return best.row;
    }

  private:
    struct Candidate {
        Values row;
        std::uint32_t gained = 0;
    };

    Candidate grow(const Tuple& tuple) {
        Draft draft(space_);
        for (std::size_t i = 0; i < tuple.count; ++i) {
            draft.set(tuple.dimension[i], tuple.value[i]);
        }
        std::uint32_t gained = 1;
        for (const std::size_t dimension : shuffled_dimensions()) {
            if (draft.open(dimension)) {
                gained += fill(draft, dimension);
            }
        }
        return {{draft.row().begin(), draft.row().end()}, gained};
    }

    // Gives `dimension` the value that adds most and leaves the row one that can be completed; the
    // draft is one before, so there is such a value.
    std::uint32_t fill(Draft& draft, std::size_t dimension) {
        struct Choice {
            std::uint64_t rank;
            std::uint32_t gained;
            std::uint8_t value;
        };
        std::vector<Choice> choices;
        for (ValueSet values = draft.left(dimension); values != 0; values &= values - 1) {
            const auto value = static_cast<std::uint8_t>(std::countr_zero(values));
            const std::uint32_t gained = tally_.gain(draft.row(), dimension, value);
            choices.push_back(
                {std::uint64_t{gained} << 32 | random_.below(1u << 31), gained, value});
        }
        std::ranges::sort(choices, std::greater(), &Choice::rank);
        for (const Choice& choice : choices) {
            Draft further = draft;
            if (further.set(dimension, choice.value) && further.can_be_completed()) {
                draft = further;
                return choice.gained;
            }
        }
        assert(false && "a draft that can be completed has a value for each dimension");
        return 0;
    }

    std::vector<std::size_t> shuffled_dimensions() {
        std::vector<std::size_t> order(space_.dimensions());
        for (std::size_t i = 0; i < order.size(); ++i) {
            order[i] = i;
            std::swap(order[i], order[random_.below(i + 1)]);
        }
        return order;
    }

    const Space& space_;
    Tally& tally_;
    Random random_;
};

}  // namespace

Space::Space(std::vector<std::uint8_t> sizes) : sizes_(std::move(sizes)) {
    assert(sizes_.size() <= kMostDimensions);
    for (const std::uint8_t size : sizes_) {
        assert(size > 0 && size <= kMostValues);
        domains_.push_back(size == kMostValues ? ~ValueSet{0} : bit(size) - 1);
    }
    beside_.assign(sizes_.size() * kMostValues * sizes_.size(), 0);
    for (std::size_t at = 0; at < beside_.size(); ++at) {
        beside_[at] = domains_[at % sizes_.size()];
    }
}

void Space::restrict(std::size_t dimension, ValueSet allowed) {
    domains_[dimension] &= allowed;
}

void Space::require(std::size_t dimension, ValueSet values, std::size_t other, ValueSet allowed) {
    const auto at = [this](std::size_t d, std::uint8_t value, std::size_t o) -> ValueSet& {
        return beside_[(d * kMostValues + value) * sizes_.size() + o];
    };
    for (std::uint8_t value = 0; value < sizes_[dimension]; ++value) {
        if ((values & bit(value)) != 0) {
            at(dimension, value, other) &= allowed;
        }
    }
    for (std::uint8_t value = 0; value < sizes_[other]; ++value) {
        if ((allowed & bit(value)) == 0) {
            at(other, value, dimension) &= ~values;
        }
    }
}

bool Space::feasible(std::span<const std::uint8_t> row) const {
    for (std::size_t d = 0; d < row.size(); ++d) {
        if ((domains_[d] & bit(row[d])) == 0) {
            return false;
        }
        for (std::size_t other = 0; other < row.size(); ++other) {
            if (other != d && (beside(d, row[d], other) & bit(row[other])) == 0) {
                return false;
            }
        }
    }
    return row.size() == sizes_.size();
}

CoveringArray cover(const Space& space, Strength strength, std::uint64_t seed,
                    std::span<const Values> given) {
    Tally tally(space, static_cast<std::size_t>(strength));
    CoveringArray array{.rows = {given.begin(), given.end()}, .feasible_tuples = tally.feasible()};
    for (const Values& row : given) {
        assert(space.feasible(row));
        tally.take(row);
    }
    Greedy greedy(space, tally, seed);
    while (tally.missing() > 0) {
        array.rows.push_back(greedy.next_row());
        tally.take(array.rows.back());
    }
    return array;
}

}  // namespace pathproof::matrix
