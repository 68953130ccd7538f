// Conclusions of nodelocal from plain values.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "harness/scenario/resolvers/nodelocal.h"
#include "tests/scenario/conclusion_table.h"

BOOST_AUTO_TEST_SUITE(nodelocal_conclude)

using namespace pathproof;
using namespace pathproof::scenario;
using namespace conclusions;
using NodeRole = verdict::Cell::Role;

namespace {

void race(NodelocalValues& seen, std::uint64_t harmed) {
    seen.answered = seen.pairs - harmed;
    seen.untranslated = harmed;
    seen.clash_resolve = harmed + 3;
}

// The machine this was written on.
NodelocalValues node_as_usual(const NodelocalCell& what) {
    NodelocalValues seen{.pairs = what.pairs, .answered = what.pairs, .slowest_ms = 1201};
    if (!what.cache || !what.rules.notrack) {
        seen.client_entries = what.pairs;
        seen.service_hits = what.cache ? 0 : what.pairs;
    } else {
        seen.device = "bridge without ports";
        seen.raw_hits = 2 * what.pairs;
        seen.cache_entries = 2;
    }
    if (what.role == NodeRole::kMatrix) {
        race(seen, 40);
    }
    if (!what.serves) {
        seen.answered = 0;
        seen.refused = what.pairs;
    }
    if (!what.rules.accept) {
        seen.answered = 0;
        seen.policy_drops = 2 * what.pairs;
    }
    return seen;
}

// The first leaves races without harm, the second no race at all.
void harm_nobody(NodelocalValues& seen) {
    if (seen.untranslated != 0) {
        seen.answered = seen.pairs;
        seen.untranslated = 0;
    }
}

void race_nowhere(NodelocalValues& seen) {
    if (seen.clash_resolve != 0) {
        seen.answered = seen.pairs;
        seen.untranslated = seen.clash_resolve = 0;
    }
}

using Rows = std::vector<Row<NodelocalCell, NodelocalValues>>;

// A demonstration that shows nothing.
Row<NodelocalCell, NodelocalValues> shows_nothing(
    const char* name, const char* id, const std::function<void(NodelocalValues&)>& change) {
    return {.name = name,
            .changes = {{id, change}},
            .concluded = {.cells = {{id, CellVerdict::kFail}},
                          .more = [id](const ScenarioResult& result) {
                              BOOST_TEST(!cell(result, id).reason.empty());
                          }}};
}

}  // namespace

const Rows kShown = {
    {.name = "what_this_kernel_shows_is_reproduced_named_and_cured",
     .concluded = {.verdict = ScenarioVerdict::kReproduced,
                   .says = {{"cause", "clash_resolve rose by 43"},
                            {"cure", "dnsmasq in the place of its CoreDNS"},
                            {"cure", "while the cache is down none of 40 pairs are answered"},
                            {"cure", "the policy dropped 80 packets"},
                            {"cure", "raw rules flushed conntrack had 1000 entries"}},
                   .causes = {{"no-cache", "conntrack-race"}},
                   .cells = {{"cache-down", CellVerdict::kPass}},
                   .cured = true,
                   .unexplained = 0,
                   .more =
                       [](const ScenarioResult& result) {
                           BOOST_TEST(contains(cell(result, "cure.link-local").toggles[0].second,
                                               "bridge without ports"));
                       }}},
    {.name = "clashes_that_harm_nobody_are_exposed",
     .changes = {{"*", harm_nobody}},
     .concluded = {.verdict = ScenarioVerdict::kExposed,
                   .says = {{"headline", "all 1000 pairs were answered"}},
                   .cured = false}},
    {.name = "where_no_pair_races_nothing_is_reproduced",
     .changes = {{"*", race_nowhere}},
     .concluded = {.verdict = ScenarioVerdict::kNotReproduced}},
    {.name = "a_control_that_races_proves_nothing",
     .changes = {{"control.one-by-one", [](NodelocalValues& seen) { race(seen, 1); }}},
     .concluded = nothing("control.one-by-one")},
    {.name = "a_control_that_clashes_proves_nothing",
     .changes = {{"control.one-by-one", [](NodelocalValues& seen) { seen.clash_resolve = 1; }}},
     .concluded = nothing("clash_resolve rose by 1")},
    {.name = "an_agent_that_died_concludes_nothing",
     .changes = {{"cure.link-local",
                  [](NodelocalValues& seen) {
                      seen.objections = {"dnsmasq ended (exit status 2): in use"};
                  }}},
     .concluded = nothing("in use")},
    {.name = "nothing_executed_concludes_nothing",
     .concluded = nothing("nothing was measured"),
     .without = "*"},
    {.name = "no_pair_concludes_nothing",
     .changes = {{"no-cache", [](NodelocalValues& seen) { seen = {}; }}},
     .concluded = nothing("no pair was sent"),
     .only = "no-cache"},
};

// A cure that does not go past conntrack.
const Rows kCures = {
    {.name = "a_cure_that_makes_entries_is_not_shown",
     .changes = {{"cure.service-address", [](NodelocalValues& seen) { seen.client_entries = 1; }}},
     .concluded = not_cured("1 entries of the clients' lookups")},
    {.name = "a_cure_that_the_service_s_rule_counts_is_not_shown",
     .changes = {{"cure.service-address", [](NodelocalValues& seen) { seen.service_hits = 1; }}},
     .concluded = not_cured("the service's rule counted 1")},
    {.name = "a_cure_that_its_raw_rules_do_not_count_is_not_shown",
     .changes = {{"cure.service-address", [](NodelocalValues& seen) { seen.raw_hits = 1999; }}},
     .concluded = not_cured("the raw rules counted 1999 of 2000")},
    {.name = "a_cure_with_clashes_is_not_shown",
     .changes = {{"cure.service-address", [](NodelocalValues& seen) { seen.clash_resolve = 2; }}},
     .concluded = not_cured("clash_resolve rose by 2")},
    {.name = "a_cure_without_answers_is_not_shown",
     .changes = {{"cure.service-address", [](NodelocalValues& seen) { seen.answered = 1; }}},
     .concluded = not_cured("999 of 1000")},
    {.name = "a_failure_that_does_not_come_back_shows_no_cure",
     .changes = {{"no-cache.after-cure", race_nowhere}},
     .concluded = {.says = {{"cure", "was not seen again"}}, .cured = false}},
};

const Rows kDemonstrations = {
    shows_nothing("tracked_lookups_without_their_entries_show_nothing", "tracked",
                  [](NodelocalValues& seen) { seen.client_entries = 7; }),
    shows_nothing("a_cache_that_is_down_and_answers_shows_nothing", "cache-down",
                  [](NodelocalValues& seen) { seen.answered = 1; }),
    shows_nothing("notrack_alone_that_answers_shows_nothing", "input-by-state.notrack-alone",
                  [](NodelocalValues& seen) { seen.answered = 1; }),
    shows_nothing("notrack_alone_that_nothing_drops_shows_nothing", "input-by-state.notrack-alone",
                  [](NodelocalValues& seen) { seen.policy_drops = 0; }),
    shows_nothing("all_rules_that_do_not_answer_show_nothing", "input-by-state.all-rules",
                  [](NodelocalValues& seen) { seen.answered = 1; }),
};

// Traps: the same symptom by another cause.
const Rows kTraps = {
    {.name = "lost_answers_are_not_given_this_cause",
     .changes = {{"no-cache",
                  [](NodelocalValues& seen) {
                      seen.untranslated = 0;
                      seen.clash_resolve = 5;
                  }}},
     .concluded = nothing("no-cache", {{"no-cache", "lost"}})},
    {.name = "errors_of_the_server_are_not_given_this_cause",
     .changes = {{"no-cache",
                  [](NodelocalValues& seen) {
                      seen.answered = 0;
                      seen.errors = seen.pairs;
                      seen.untranslated = seen.clash_resolve = 0;
                  }}},
     .concluded = nothing("no-cache", {{"no-cache", "server-error"}})},
    {.name = "a_full_table_is_not_given_this_cause",
     .changes = {{"no-cache",
                  [](NodelocalValues& seen) {
                      seen.untranslated = seen.clash_resolve = 0;
                      seen.drop = 80;
                  }}},
     .concluded = nothing("no-cache", {{"no-cache", "table-full"}})},
    {.name = "untranslated_answers_without_a_clash_are_not_given_this_cause",
     .changes = {{"no-cache", [](NodelocalValues& seen) { seen.clash_resolve = 0; }}},
     .concluded = nothing("no-cache", {{"no-cache", "untranslated-answer"}})},
    {.name = "answers_lost_beside_raced_ones_are_unexplained",
     .changes = {{"no-cache", [](NodelocalValues& seen) { seen.answered -= 5; }}},
     .concluded = {.causes = {{"no-cache", "lost"}}, .unexplained = 45}},
};

[[maybe_unused]] const bool kAdded =
    add_cases(nodelocal_plan, node_as_usual, {kShown, kCures, kDemonstrations, kTraps});

BOOST_AUTO_TEST_CASE(no_sentence_says_what_no_value_bears_out) {
    ten_thousand({{"got an error", {"errors"}},
                  {"came from another address", {"untranslated"}},
                  {"refused by ICMP", {"refused_by_icmp"}},
                  {"clash_resolve rose", {"clash_resolve"}},
                  {"insert_failed rose", {"insert_failed"}},
                  {"for want of an entry", {"drop"}},
                  {"the policy dropped", {"policy_drops"}}},
                 [](Dice& dice) {
                     std::vector<MeasuredNodelocalCell> cells;
                     for (const NodelocalCell& what : nodelocal_plan()) {
                         NodelocalValues seen = node_as_usual(what);
                         if (dice.one_in(7)) {
                             seen.pairs = dice.up_to(2000);
                             seen.answered = dice.up_to(seen.pairs);
                             seen.errors = dice.up_to(seen.pairs - seen.answered);
                             seen.untranslated = dice.up_to(seen.lacking());
                             seen.refused = dice.up_to(seen.lacking());
                             seen.clash_resolve = dice.up_to(50);
                             seen.insert_failed = dice.up_to(50);
                             seen.drop = seen.insert_failed + dice.up_to(50);
                             seen.client_entries = dice.up_to(2000);
                             seen.service_hits = dice.up_to(2000);
                             seen.raw_hits = dice.up_to(4000);
                             seen.policy_drops = dice.up_to(80);
                         }
                         if (dice.one_in(40)) {
                             seen.objections = {"dnsmasq ended"};
                         }
                         if (!dice.one_in(12)) {
                             cells.push_back({.what = what, .seen = seen, .evidence = {}});
                         }
                     }
                     return conclude(cells);
                 });
}

BOOST_AUTO_TEST_SUITE_END()
