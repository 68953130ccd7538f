// Conclusions of snat-exhaustion from plain values, and the computed share of failures.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "harness/scenario/service_path/snat_exhaustion.h"
#include "tests/scenario/conclusion_table.h"

BOOST_AUTO_TEST_SUITE(snat_exhaustion_conclude)

using namespace pathproof;
using namespace pathproof::scenario;
using namespace conclusions;

namespace {

const std::vector<Phrase> kPortPhrases = {{"insert_failed rose", {"insert_failed"}},
                                          {"ports were free", {"fewest_free"}},
                                          {"of the range were free", {"fewest_free"}},
                                          {"flows failed", {"flows"}},
                                          {"for want of", {"drop"}}};

void starve(ExhaustionValues& seen, std::uint64_t flows) {
    seen.made = seen.flows - flows;
    seen.path.out = seen.path.in - flows;
    seen.path.drop = seen.path.insert_failed = seen.path.netfilter_drops = flows;
    seen.fewest_free = 90;
}

bool is_starved(const ExhaustionCell& what) {
    return what.role == CellRole::kMatrix && what.to >= 95;
}

// The machine this was written on.
ExhaustionValues starved_as_usual(const ExhaustionCell& what) {
    ExhaustionValues seen{.ports = 8192,
                          .used_before = 8192 * what.from / 100,
                          .used_after = 8192 * what.to / 100,
                          .flows = 235,
                          .made = 235,
                          .fewest_free = 8192,
                          .path = {.in = 235, .out = 235}};
    if (is_starved(what)) {
        starve(seen, what.to == 99 ? 71 : 10);
        seen.expected = what.to == 99 ? 68 : 11;
        seen.variance = what.to == 99 ? 45 : 10;
    }
    return seen;
}

auto starved(std::uint64_t flows) {
    return [flows](ExhaustionValues& seen) { starve(seen, flows); };
}

// The kernel's search as it is written there.
bool finds(const std::vector<bool>& used, std::mt19937& random) {
    const std::size_t ports = used.size();
    std::size_t tries = std::min<std::size_t>(ports, 128);
    for (;;) {
        const std::size_t from = random() % ports;
        for (std::size_t i = 0; i < tries; ++i) {
            if (!used[(from + i) % ports]) {
                return true;
            }
        }
        if (tries >= ports || tries < 16) {
            return false;
        }
        tries /= 2;
    }
}

using Rows = std::vector<Row<ExhaustionCell, ExhaustionValues>>;

}  // namespace

BOOST_AUTO_TEST_CASE(the_computed_share_is_that_of_the_search) {
    BOOST_TEST(search_failure(std::vector<bool>(1)) == 0);
    BOOST_TEST(search_failure(std::vector<bool>(1, true)) == 1);
    BOOST_TEST(search_failure(std::vector<bool>(8192, true)) == 1);
    BOOST_TEST(search_failure(std::vector<bool>(8192)) == 0);
    std::vector<bool> one_free(100, true);  // a small range is searched whole
    one_free[7] = false;
    BOOST_TEST(search_failure(one_free) == 0);
    std::mt19937 random(1);
    for (const std::size_t ports : {256U, 1000U}) {
        for (const std::size_t busy : {9U, 49U}) {  // of the last tenth, where all others are busy
            std::vector<bool> used(ports, true);
            for (std::size_t i = ports * 9 / 10; i < ports; ++i) {
                used[i] = random() % 50 < busy;
            }
            const double computed = search_failure(used);
            unsigned failed = 0;
            for (int i = 0; i < 20'000; ++i) {
                failed += finds(used, random) ? 0 : 1;
            }
            const double spread = std::sqrt(20'000 * computed * (1 - computed));
            BOOST_TEST(std::abs(failed - 20'000 * computed) <= 5 * spread + 1);
        }
    }
}

const Rows kShown = {
    {.name = "what_this_kernel_shows_is_reproduced_named_and_cured",
     .concluded = {.verdict = ScenarioVerdict::kReproduced,
                   .says = {{"headline",
                             "97 to 99 % in use: 71 of 235 flows failed (computed 68.0"},
                            {"cause", "248 tries"},
                            {"cause", "162 flows failed, insert_failed rose by 162"},
                            {"cure", "none of 235 flows failed"}},
                   .causes = {{"fill-99", "port-search"}},
                   .cured = true,
                   .before = "fill-95",
                   .after = "cure.all-ports",
                   .controls = 3,
                   .more =
                       [](const ScenarioResult& result) {
                           BOOST_REQUIRE(result.charts.size() == 1U);
                           // Seven of the curve beside those computed.
                           BOOST_TEST(result.charts[0].bars.size() == 18U);
                       }}},
    {.name = "an_empty_range_that_shows_it_proves_nothing",
     .changes = {{"control.empty-range", starved(2)}},
     .concluded = nothing("control.empty-range")},
    {.name = "all_ports_that_show_it_prove_nothing",
     .changes = {{"control.all-ports", starved(2)}},
     .concluded = nothing("control.all-ports")},
    {.name = "a_cure_that_fails_is_not_shown",
     .changes = {{"cure.all-ports", starved(4)}},
     .concluded = not_cured("4 of 235 flows failed")},
    {.name = "a_cure_without_a_full_range_is_not_shown",
     .changes = {{"cure.all-ports", [](ExhaustionValues& seen) { seen.used_before = 17; }}},
     .concluded = not_cured("17 of 8192 ports were in use")},
    {.name = "a_failure_that_does_not_come_back_shows_no_cure",
     .changes = {{"fill-99.after-cure", starved(0)}},
     .concluded = {.says = {{"cure", "was not seen again"}}, .cured = false}},
    {.name = "where_each_flow_gets_a_port_nothing_is_reproduced",
     .changes = {{"*", starved(0)}},
     .concluded = {.verdict = ScenarioVerdict::kNotReproduced}},
    {.name = "an_agent_that_died_concludes_nothing",
     .changes = {{"fill-50",
                  [](ExhaustionValues& seen) { seen = {.objections = {"ended by signal 9"}}; }}},
     .concluded = nothing("ended by signal 9")},
    {.name = "a_range_that_was_not_filled_concludes_nothing",
     .changes = {{"fill-50", [](ExhaustionValues& seen) { seen.used_before = 9; }}},
     .concluded = nothing("9 of 8192 ports were in use, not 45 %")},
    {.name = "nothing_executed_concludes_nothing",
     .concluded = nothing("nothing was measured"),
     .without = "*"},
    {.name = "no_flow_concludes_nothing",
     .changes = {{"fill-50", [](ExhaustionValues& seen) { seen = {}; }}},
     .concluded = nothing("no flow was begun"),
     .only = "fill-50"},
};

// Traps: the same symptom by another cause.
const Rows kTraps = {
    // In a range of which half is free the search fails for nobody.
    {.name = "refusals_beyond_what_the_search_leaves_have_another_cause",
     .changes = {{"fill-50", starved(20)},
                 {"fill-50", [](ExhaustionValues& seen) { seen.expected = seen.variance = 0; }}},
     .concluded = {.verdict = ScenarioVerdict::kInconclusive,
                   .causes = {{"fill-50", "insert-failed"}}}},
    {.name = "a_range_that_is_really_full_is_not_given_this_cause",
     .changes = {{"fill-99", [](ExhaustionValues& seen) { seen.fewest_free = 0; }}},
     .concluded = nothing("refused when they were inserted", {{"fill-99", "insert-failed"}})},
    {.name = "a_filter_is_not_given_this_cause",
     .changes = {{"*", starved(100)},
                 {"*",
                  [](ExhaustionValues& seen) { seen.path.drop = seen.path.insert_failed = 0; }}},
     .concluded = nothing("rules of netfilter dropped 100", {{"fill-99", "rule-drop"}})},
    {.name = "random_loss_is_not_given_this_cause",
     .changes = {{"fill-99", starved(71)},
                 {"fill-99",
                  [](ExhaustionValues& seen) {
                      seen.made -= 30;
                      seen.path.out -= 30;
                  }}},
     .concluded = nothing("101 of 235 packets did not come out", {{"fill-99", "lost"}}, 101)},
    {.name = "a_full_table_is_not_given_this_cause",
     .changes = {{"fill-99", starved(71)},
                 {"fill-99", [](ExhaustionValues& seen) { seen.path.insert_failed = 0; }}},
     .concluded =
         nothing("conntrack dropped 71 for want of an entry", {{"fill-99", "table-full"}})},
    {.name = "a_dead_link_is_not_given_this_cause",
     .changes = {{"*",
                  [](ExhaustionValues& seen) {
                      seen.path = {.in = 235, .out = 0, .outages = {"d1"}};
                  }}},
     .concluded = nothing("d1 had no link")},
    {.name = "refusals_that_are_not_all_counted_are_not_said",
     .changes = {{"fill-99", [](ExhaustionValues& seen) { --seen.path.insert_failed; }}},
     .concluded = nothing("71 of 235 flows failed")},
    {.name = "a_listener_that_lost_events_concludes_nothing",
     .changes = {{"fill-99",
                  [](ExhaustionValues& seen) {
                      --seen.made;
                      seen.overruns = 1;
                  }}},
     .concluded = nothing("events of conntrack were lost")},
    {.name = "flows_without_an_entry_whose_packets_came_out_are_unexplained",
     .changes = {{"fill-50", [](ExhaustionValues& seen) { seen.made -= 3; }}},
     .concluded = nothing("though each packet came out of the DUT", {}, 3)},
};

[[maybe_unused]] const bool kAdded =
    add_cases(snat_exhaustion_plan, starved_as_usual, {kShown, kTraps}, kPortPhrases);

BOOST_AUTO_TEST_CASE(no_sentence_says_what_no_value_bears_out) {
    ten_thousand(kPortPhrases, [](Dice& dice) {
        std::vector<MeasuredExhaustionCell> cells;
        for (const ExhaustionCell& what : snat_exhaustion_plan()) {
            ExhaustionValues seen = starved_as_usual(what);
            if (dice.one_in(3) && is_starved(what)) {
                starve(seen, dice.up_to(235));
                seen.fewest_free = dice.up_to(90);
                seen.expected = static_cast<double>(dice.up_to(70));
            }
            if (dice.one_in(30)) {
                seen.used_before = dice.up_to(8192);
                seen.flows = dice.up_to(300);
                seen.made = dice.up_to(300);
                seen.path = {.in = dice.up_to(300), .out = dice.up_to(300), .drop = dice.up_to(90)};
                seen.path.insert_failed = dice.up_to(seen.path.drop);
                seen.path.netfilter_drops = dice.up_to(300);
                seen.overruns = dice.up_to(1);
                seen.path.outages.resize(dice.up_to(1), "d1");
            }
            if (!dice.one_in(9)) {
                cells.push_back({.what = what, .seen = seen, .evidence = {}});
            }
        }
        return conclude(cells);
    });
}

BOOST_AUTO_TEST_SUITE_END()
