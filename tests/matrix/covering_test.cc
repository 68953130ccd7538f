#include "dataplane/matrix/covering.h"

#include <boost/test/unit_test.hpp>
#include <set>

#include "dataplane/base/random.h"

using namespace pathproof::matrix;
using pathproof::Random;

namespace {

using TupleKey = std::vector<std::pair<std::size_t, std::uint8_t>>;

void add_tuples(std::set<TupleKey>& to, const Values& row, std::size_t strength,
                std::size_t from = 0, TupleKey begun = {}) {
    if (begun.size() == strength) {
        to.insert(begun);
        return;
    }
    for (std::size_t d = from; d < row.size(); ++d) {
        TupleKey longer = begun;
        longer.emplace_back(d, row[d]);
        add_tuples(to, row, strength, d + 1, longer);
    }
}

std::set<TupleKey> tuples_in(const std::vector<Values>& rows, std::size_t strength) {
    std::set<TupleKey> tuples;
    for (const Values& row : rows) {
        add_tuples(tuples, row, strength);
    }
    return tuples;
}

// Counts up through every combination of values: the slow truth.
std::vector<Values> all_feasible_rows(const Space& space) {
    std::vector<Values> rows;
    Values row(space.dimensions(), 0);
    for (;;) {
        if (space.feasible(row)) {
            rows.push_back(row);
        }
        std::size_t at = 0;
        while (at < row.size() && ++row[at] == space.size(at)) {
            row[at++] = 0;
        }
        if (at == row.size()) {
            return rows;
        }
    }
}

Space random_space(Random& random) {
    std::vector<std::uint8_t> sizes;
    for (std::size_t d = 0; d < 6; ++d) {
        sizes.push_back(static_cast<std::uint8_t>(2 + random.below(3)));
    }
    Space space(sizes);
    for (int rule = 0; rule < 6; ++rule) {
        const std::size_t a = random.below(sizes.size());
        const std::size_t b = (a + 1 + random.below(sizes.size() - 1)) % sizes.size();
        space.require(a, ValueSet{1} << random.below(sizes[a]), b,
                      static_cast<ValueSet>(random.below(1u << sizes[b])));
    }
    return space;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(covering)

BOOST_AUTO_TEST_CASE(every_tuple_of_any_feasible_row_is_covered_and_no_row_is_infeasible) {
    Random random(1);
    std::size_t spaces_with_rows = 0;
    for (int round = 0; round < 60; ++round) {
        const Space space = random_space(random);
        const std::vector<Values> truth = all_feasible_rows(space);
        spaces_with_rows += !truth.empty();
        for (const Strength strength : {Strength::kPairs, Strength::kTriples}) {
            const CoveringArray array = cover(space, strength, 7);
            const auto t = static_cast<std::size_t>(strength);
            for (const Values& row : array.rows) {
                BOOST_REQUIRE(space.feasible(row));
            }
            const auto wanted = tuples_in(truth, t);
            BOOST_REQUIRE_EQUAL(array.feasible_tuples, wanted.size());
            BOOST_REQUIRE(tuples_in(array.rows, t) == wanted);
        }
    }
    BOOST_TEST(spaces_with_rows > 40u);
}

BOOST_AUTO_TEST_CASE(pairs_of_free_dimensions_take_few_rows) {
    // 10 dimensions of 4 values: 16 is the lower bound, known arrays have 24 to 30.
    const Space space(std::vector<std::uint8_t>(10, 4));
    BOOST_TEST(cover(space, Strength::kPairs, 1).rows.size() <= 36u);
    BOOST_TEST(cover(space, Strength::kPairs, 1).feasible_tuples == 45u * 16);
}

BOOST_AUTO_TEST_CASE(the_seed_decides_the_rows) {
    const Space space(std::vector<std::uint8_t>(6, 3));
    BOOST_TEST(
        (cover(space, Strength::kTriples, 5).rows == cover(space, Strength::kTriples, 5).rows));
    BOOST_TEST(
        (cover(space, Strength::kTriples, 5).rows != cover(space, Strength::kTriples, 6).rows));
}

BOOST_AUTO_TEST_CASE(given_rows_come_first_and_spare_others) {
    const Space space(std::vector<std::uint8_t>{3, 3});
    std::vector<Values> given;
    for (std::uint8_t a = 0; a < 3; ++a) {
        for (std::uint8_t b = 0; b < 3; ++b) {
            given.push_back({a, b});
        }
    }
    BOOST_TEST((cover(space, Strength::kPairs, 1, given).rows == given));
}

BOOST_AUTO_TEST_CASE(a_space_without_feasible_rows_has_none) {
    Space space(std::vector<std::uint8_t>{2, 2});
    space.require(0, 0b11, 1, 0);
    const CoveringArray array = cover(space, Strength::kPairs, 1);
    BOOST_TEST(array.rows.empty());
    BOOST_TEST(array.feasible_tuples == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
