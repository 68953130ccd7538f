#include "harness/verdict/contradiction.h"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(contradiction)

using namespace pathproof::verdict;

namespace {

Cell cell(const std::string& reason, const std::string& measure, std::uint64_t value) {
    return {.id = "one",
            .verdict = CellVerdict::kFail,
            .reason = reason,
            .measures = {{.name = measure, .label = measure, .value = value}}};
}

std::size_t count(const std::string& reason, const std::string& measure, std::uint64_t value) {
    return contradictions({.id = "x", .cells = {cell(reason, measure, value)}}).size();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_number_in_a_sentence_is_that_of_its_measure) {
    struct Row {
        const char* reason;
        const char* measure;
        std::uint64_t value;
        std::size_t found;
    };
    const Row kRows[] = {
        {"5 dropped at insertion (insert_failed rose by 7)", "insert_failed", 7, 0},
        {"5 dropped at insertion (insert_failed rose by 452)", "insert_failed", 7, 1},
        {"insert_failed rose by 7", "drop", 3, 0},  // it was not measured
        {"insert_failed rose by many", "insert_failed", 3, 0},
        {"drop did not rise", "drop", 3, 1},
        {"drop did not rise", "drop", 0, 0},
        {"insert_failed and drop stayed 0", "insert_failed", 0, 0},
        {"insert_failed and drop stayed 0", "insert_failed", 2, 1},
        {"and conntrack resolved no clash for them", "clash_resolve", 138, 1},
        {"and conntrack resolved no clash for them", "clash_resolve", 0, 0},
        {"285 as the hidden entry of their clash had expired", "hidden_entries", 258, 1},
        {"258 as the hidden entry of their clash had expired", "hidden_entries", 258, 0},
    };
    for (const Row& row : kRows) {
        BOOST_TEST(count(row.reason, row.measure, row.value) == row.found,
                   row.reason << ", " << row.measure << " " << row.value);
    }
}

BOOST_AUTO_TEST_CASE(a_headline_is_held_against_all_cells) {
    ScenarioResult result{.id = "x",
                          .headline = "No pair raced or collided: 6000 queries were answered.",
                          .cells = {cell("", "insert_failed", 1460)},
                          .controls = {cell("", "insert_failed", 804)}};
    BOOST_TEST(contradictions(result).size() == 1U);
    result.headline = "No query was harmed (one: insert_failed rose by 1460).";
    BOOST_TEST(contradictions(result).empty());
    result.cause = "insert_failed rose by 2264";
    BOOST_TEST(contradictions(result).empty());
    result.cause = "insert_failed rose by 2265";
    BOOST_TEST(contradictions(result).size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_run_that_contradicts_itself_is_incomplete) {
    const ScenarioResult result{
        .id = "dns-race",
        .verdict = ScenarioVerdict::kNotReproduced,
        .headline = "No pair raced or collided: 6 queries of 1 cells were answered in time.",
        .cells = {{.id = "one",
                   .verdict = CellVerdict::kPass,
                   .measures = {{.name = "insert_failed", .value = std::uint64_t{3}}}}},
        .controls = {{.id = "control.one", .verdict = CellVerdict::kPass}}};
    const auto [verdict, reasons] = judge_run({result});
    BOOST_TEST((verdict == RunVerdict::kIncomplete));
    BOOST_REQUIRE(!reasons.empty());
    BOOST_TEST(
        reasons.front().find("it contradicts itself: the headline says") != std::string::npos,
        reasons.front());
}

BOOST_AUTO_TEST_SUITE_END()
