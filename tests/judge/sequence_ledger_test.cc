#include "dataplane/judge/sequence_ledger.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>
#include <set>
#include <vector>

BOOST_AUTO_TEST_SUITE(sequence_ledger)

using namespace pathproof::judge;

namespace {

// RFC 4737 section 3.3 from its text, with all that was ever seen remembered.
struct Oracle {
    Arrival take(std::uint64_t number) {
        if (!seen.insert(number).second) {
            ++totals.duplicates;
            return Arrival::kDuplicate;
        }
        ++totals.unique;
        if (number >= next_expected) {
            next_expected = number + 1;
            return Arrival::kUnique;
        }
        ++totals.reordered;
        const auto distance = static_cast<std::uint32_t>(next_expected - 1 - number);
        totals.furthest = std::max(totals.furthest, distance);
        std::size_t bin = 0;
        while (bin + 1 < totals.distance.size() && distance >> (bin + 1) != 0) {
            ++bin;
        }
        ++totals.distance[bin];
        return Arrival::kReordered;
    }
    std::set<std::uint64_t> seen;
    std::uint64_t next_expected = 0;
    SequenceTotals totals;
};

void check_equal(const SequenceTotals& found, const SequenceTotals& expected) {
    BOOST_TEST(found.unique == expected.unique);
    BOOST_TEST(found.duplicates == expected.duplicates);
    BOOST_TEST(found.reordered == expected.reordered);
    BOOST_TEST(found.too_old == expected.too_old);
    BOOST_TEST(found.furthest == expected.furthest);
    BOOST_TEST(found.distance == expected.distance, boost::test_tools::per_element());
}

// Numbers from `first` on with losses, copies and delays of up to `reach` places.
std::vector<std::uint64_t> disturbed(std::uint64_t first, std::size_t count, std::size_t reach,
                                     std::uint32_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> placed;  // place, number
    for (std::size_t i = 0; i < count; ++i) {
        const auto chance = random() % 100;
        if (chance < 3) {
            continue;
        }
        const std::uint64_t delay = chance < 10 ? random() % reach : 0;
        placed.emplace_back(i + delay, first + i);
        if (chance >= 95) {
            placed.emplace_back(i + random() % reach, first + i);
        }
    }
    std::ranges::stable_sort(placed, {}, [](const auto& entry) { return entry.first; });
    std::vector<std::uint64_t> numbers;
    for (const auto& entry : placed) {
        numbers.push_back(entry.second);
    }
    return numbers;
}

template <unsigned Bits>
void compare_with_oracle(std::uint64_t first, std::size_t count, std::size_t reach,
                         std::uint32_t seed) {
    SequenceLedger ledger;
    Oracle oracle;
    int different = 0;
    for (const std::uint64_t number : disturbed(first, count, reach, seed)) {
        constexpr std::uint64_t kMask = (std::uint64_t{1} << Bits) - 1;
        const Arrival found = ledger.take<Bits>(static_cast<std::uint32_t>(number & kMask));
        different += found == oracle.take(number) ? 0 : 1;
    }
    BOOST_TEST(different == 0);
    check_equal(ledger.totals(), oracle.totals);
}

}  // namespace

BOOST_AUTO_TEST_CASE(numbers_in_order_are_unique_and_nothing_else) {
    SequenceLedger ledger;
    std::uint32_t others = 0;
    for (std::uint32_t n = 0; n < 5'000'000; ++n) {
        others += ledger.take(n) == Arrival::kUnique ? 0 : 1;
    }
    BOOST_TEST(others == 0u);
    check_equal(ledger.totals(), {.unique = 5'000'000});
    BOOST_TEST(ledger.totals().highest == 5'000'000u);
}

BOOST_AUTO_TEST_CASE(nothing_taken_is_all_zero_and_a_reset_forgets) {
    SequenceLedger ledger;
    BOOST_TEST(ledger.totals().highest == 0u);
    ledger.take(77);
    ledger.take(77);
    BOOST_TEST(ledger.totals().highest == 78u);
    ledger.reset();
    check_equal(ledger.totals(), {});
    BOOST_TEST((ledger.take(77) == Arrival::kUnique));
    BOOST_TEST((ledger.take(76) == Arrival::kReordered));
    BOOST_TEST(ledger.totals().highest == 78u);
}

BOOST_AUTO_TEST_CASE(losses_copies_and_delays_are_what_the_oracle_says) {
    compare_with_oracle<32>(0, 200'000, 5, 1);
    compare_with_oracle<32>(12'345, 200'000, 64, 2);
    compare_with_oracle<32>(0, 300'000, 5'000, 3);
    compare_with_oracle<32>(0, 1'000'000, 200'000, 4);
}

BOOST_AUTO_TEST_CASE(numbers_go_on_behind_their_wrap) {
    compare_with_oracle<32>(0xffff'ff00 - 50'000, 200'000, 3'000, 5);
    compare_with_oracle<28>(0x0fff'ff00 - 50'000, 200'000, 3'000, 6);
}

BOOST_AUTO_TEST_CASE(a_window_is_remembered_and_not_more) {
    constexpr auto kReach = static_cast<std::uint32_t>(SequenceLedger::kRemembered);
    for (const std::uint32_t start : {0u, 1u, 63u, 64u, 1'000'003u}) {
        SequenceLedger ledger;
        ledger.take(start);
        ledger.take(start + 1);
        const std::uint32_t top = start + kReach;
        ledger.take(top);
        BOOST_TEST((ledger.take(start + 1) == Arrival::kDuplicate));
        BOOST_TEST((ledger.take(start + 2) == Arrival::kReordered));
        BOOST_TEST((ledger.take(start + 2) == Arrival::kDuplicate));
        BOOST_TEST((ledger.take(start) == Arrival::kTooOld));
        BOOST_TEST(ledger.totals().furthest == kReach - 2);
    }
}

BOOST_AUTO_TEST_CASE(a_gap_of_any_length_leaves_nothing_behind_that_was_not_seen) {
    for (const std::uint32_t gap : {1u, 62u, 63u, 64u, 65u, 1'000u, 2'097'000u, 2'097'087u,
                                    2'097'152u, 2'097'153u, 5'000'000u}) {
        SequenceLedger ledger;
        for (std::uint32_t n = 0; n < 3'000'000; ++n) {
            ledger.take(n);
        }
        const std::uint32_t next = 3'000'000 + gap;
        BOOST_REQUIRE(ledger.take(next) == Arrival::kUnique);
        const std::uint32_t lowest =
            next + 1 - static_cast<std::uint32_t>(SequenceLedger::kRemembered);
        std::uint32_t unexpected = 0;
        for (std::uint32_t n = std::max(lowest, 3'000'000 - 200u); n < next; ++n) {
            const Arrival expected = n < 3'000'000 ? Arrival::kDuplicate : Arrival::kReordered;
            unexpected += ledger.take(n) == expected ? 0 : 1;
        }
        BOOST_TEST(unexpected == 0u, "gap " << gap);
    }
}

BOOST_AUTO_TEST_CASE(the_parts_of_several_receivers_add_up) {
    SequenceLedger even;
    SequenceLedger odd;
    for (std::uint32_t n = 0; n < 1'000; ++n) {
        (n % 2 == 0 ? even : odd).take(n);
    }
    even.take(500);
    const SequenceTotals both = sum(even.totals(), odd.totals());
    BOOST_TEST(both.unique == 1'000u);
    BOOST_TEST(both.duplicates == 1u);
    BOOST_TEST(both.highest == 1'000u);
}

BOOST_AUTO_TEST_CASE(the_last_number_overtaken_is_known_until_a_reset) {
    SequenceLedger ledger;
    for (const std::uint32_t number : {3u, 4u}) {
        ledger.take(number);
    }
    BOOST_TEST(ledger.totals().overtaken == 0);
    for (const std::uint32_t number : {7u, 8u, 12u, 13u}) {
        ledger.take(number);
    }
    // 11 is the last of 5, 6, 9, 10 and 11; one that comes late stays overtaken.
    BOOST_TEST(ledger.totals().overtaken == 12);
    ledger.take(11u);
    BOOST_TEST(ledger.totals().overtaken == 12);
    ledger.reset();
    BOOST_TEST(ledger.totals().overtaken == 0);
}

BOOST_AUTO_TEST_CASE(a_run_leaves_what_its_numbers_one_by_one_leave) {
    std::mt19937 random(7);
    SequenceLedger by_runs;
    SequenceLedger one_by_one;
    std::uint32_t next = 0;
    const auto take_both = [&](std::uint32_t number) {
        BOOST_REQUIRE((by_runs.take(number) == one_by_one.take(number)));
    };
    for (int step = 0; step < 20'000; ++step) {
        const auto count = static_cast<unsigned>(1 + random() % 64);
        BOOST_REQUIRE(!by_runs.take_run(next + 1, count));
        BOOST_REQUIRE(by_runs.take_run(next, count));
        for (unsigned i = 0; i < count; ++i) {
            one_by_one.take(next + i);
        }
        // A number of the run is a duplicate, and a number ahead of it is new: now and then numbers
        // are left out.
        take_both(static_cast<std::uint32_t>(next + random() % count));
        next += count;
        if (step % 16 == 0) {
            const auto left_out = static_cast<std::uint32_t>(random() % 200);
            next += left_out;
            take_both(next++);
            take_both(next - 1 - left_out / 2);
        }
    }
    const SequenceTotals a = by_runs.totals();
    const SequenceTotals b = one_by_one.totals();
    BOOST_TEST(a.unique == b.unique);
    BOOST_TEST(a.duplicates == b.duplicates);
    BOOST_TEST(a.reordered == b.reordered);
    BOOST_TEST(a.highest == b.highest);
    BOOST_TEST(a.duplicates > 19'000u);
}

BOOST_AUTO_TEST_SUITE_END()
