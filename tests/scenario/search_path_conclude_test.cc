// Conclusions of search-path from plain values.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "harness/scenario/resolvers/search_path.h"
#include "tests/scenario/conclusion_table.h"

BOOST_AUTO_TEST_SUITE(search_path_conclude)

using namespace pathproof;
using namespace pathproof::scenario;
using namespace conclusions;
using Role = verdict::Cell::Role;

namespace {

using Names = std::vector<std::string>;

SearchPathCell path_cell(const std::string& id) {
    for (const SearchPathCell& what : search_path_plan()) {
        if (what.id == id) {
            return what;
        }
    }
    BOOST_FAIL("no cell " << id);
    return {};
}

// One lookup in ten is hit by a loss among the names of the list.
SearchPathValues as_usual_path(const SearchPathCell& what) {
    const std::uint64_t queries = names_asked(what, "n").size() * (what.one_type() ? 1U : 2U);
    SearchPathValues seen{.lookups = what.lookups,
                          .ok = what.lookups,
                          .computed_queries = queries,
                          .fewest_queries = queries,
                          .most_queries = queries,
                          .names = names_asked(what, "n").size(),
                          .packets = 2 * queries * what.lookups,
                          .places = queries * what.lookups};
    seen.planned = seen.withheld = (seen.places * what.lost_permille + 500) / 1000;
    seen.computed_hit = computed_hits(seen.lookups, queries, seen.planned);
    if (seen.planned != 0) {
        seen.longest_ms = what.wait_ms;
        (queries > 2 ? seen.by_search : seen.by_name) = std::min<std::uint64_t>(3, seen.planned);
    }
    if (what.shows == PathShows::kNotSearched) {
        seen.ok = 0;
        seen.by_other = seen.lookups;
        seen.other = "not-searched";
    }
    if (what.shows == PathShows::kNeverEnds) {
        seen.ok = 0;
        seen.killed = seen.lookups;
    }
    return seen;
}

// Lookups that wait, and a loss is not why.
auto waits_for(const std::string& other) {
    return [other](SearchPathValues& seen) {
        seen.by_search = seen.by_name = 0;
        seen.by_other = 4;
        seen.other = other;
    };
}

void lack_musl(SearchPathValues& seen) {
    seen = {.lacking = "install musl-tools"};
}

constexpr const char* kSix = "glibc.list-6";

using Rows = std::vector<Row<SearchPathCell, SearchPathValues>>;

// Rows of slow servers, lost answers and strangers, each alone and beside losses of the list.
Rows other_causes() {
    Rows rows;
    for (const std::string other : {"late-answer", "answer-lost", "query-lost", "foreign-answer"}) {
        rows.push_back({.name = other + "_is_not_given_this_cause",
                        .changes = {{kSix, waits_for(other)}},
                        .concluded = nothing(kSix, {{kSix, other}})});
        rows.push_back({.name = other + "_beside_it_is_named_too",
                        .changes = {{kSix,
                                     [other](SearchPathValues& seen) {
                                         seen.by_other = 1;
                                         seen.other = other;
                                     }}},
                        .concluded = nothing(kSix, {{kSix, "search-path+" + other}})});
    }
    for (const std::string id : {"control.no-loss", "control.first-of-list", "control.five-dots"}) {
        rows.push_back({.name = id + "_that_waits_for_the_list_proves_nothing",
                        .changes = {{id, [](SearchPathValues& seen) { seen.by_search = 1; }}},
                        .concluded = nothing(id)});
    }
    return rows;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_resolver_asks_for_the_list_first_where_the_name_has_fewer_dots_than_ndots) {
    const Names list = names_asked(path_cell("glibc.list-3"), "n");
    BOOST_TEST(
        (list == Names{"n.example.com.default.svc.cluster.local", "n.example.com.svc.cluster.local",
                       "n.example.com.cluster.local", "n.example.com"}));
    BOOST_TEST(names_asked(path_cell("glibc.list-6"), "n").size() == 7U);
    for (const char* id : {"cure.trailing-dot", "cure.ndots-2", "cure.musl.ndots-2",
                           "control.five-dots", "control.first-of-list"}) {
        BOOST_TEST(names_asked(path_cell(id), "n").size() == 1U, id);
    }
    SearchPathCell service = path_cell("musl.ndots-1.service-name");
    BOOST_TEST((names_asked(service, "n") == Names{"n.kube-system"}));
    service.who = resolver::Kind::kGlibc;  // goes on to the list
    BOOST_TEST((names_asked(service, "n") == Names{"n.kube-system",
                                                   "n.kube-system.default.svc.cluster.local",
                                                   "n.kube-system.svc.cluster.local"}));
}

BOOST_AUTO_TEST_CASE(the_share_of_lookups_that_a_loss_hits_is_computed_from_places_and_losses) {
    BOOST_TEST(computed_hits(100, 14, 0) == 0);
    BOOST_TEST(computed_hits(100, 1, 7) == 7, boost::test_tools::tolerance(1e-9));
    BOOST_TEST(computed_hits(10, 2, 20) == 10);
    // Two places of two lookups each: of two losses 2 of 6 ways lie in one lookup.
    BOOST_TEST(computed_hits(2, 2, 2) == 2 * (1 - 1.0 / 6), boost::test_tools::tolerance(1e-9));
    BOOST_TEST(computed_hits(100'000, 14, 28'000) == 100'000 * (1 - std::pow(0.98, 14)),
               boost::test_tools::tolerance(1e-3));
}

const Rows kRows = {
    {.name = "what_resolvers_show_is_reproduced_named_and_cured",
     .concluded = {.verdict = ScenarioVerdict::kReproduced,
                   .says = {{"headline", "7 names, 14 queries a lookup"},
                            {"headline", "computed"},
                            {"cure", "does not find 3 of 3 names"},
                            {"cure", "`use-vc` is none: 2 of 2"}},
                   .causes = {{kSix, "search-path"}},
                   .cured = true,
                   .before = kSix,
                   .after = "cure.trailing-dot"}},
    {.name = "losses_of_the_name_itself_are_not_the_lists",
     .changes = {{kSix,
                  [](SearchPathValues& seen) {
                      seen.by_name = seen.by_search;
                      seen.by_search = 0;
                  }}},
     .concluded = {.cells = {{kSix, CellVerdict::kPass}}}},
    {.name = "a_cure_that_fails_is_not_shown",
     .changes = {{"cure.ndots-2", [](SearchPathValues& seen) { seen.by_search = 2; }}},
     .concluded = not_cured("not shown: cure.ndots-2")},
    {.name = "without_the_cells_after_it_no_cure_is_shown",
     .concluded = {.cured = false},
     .without = "*after-cure*"},
    // Traps: a resolver that asks otherwise, and one that waits for nothing.
    {.name = "a_resolver_that_asks_otherwise_concludes_nothing",
     .changes = {{kSix, [](SearchPathValues& seen) { seen.fewest_queries = 2; }}},
     .concluded = nothing("2 to 14 queries, and 14 are computed")},
    {.name = "answers_that_were_not_withheld_conclude_nothing",
     .changes = {{kSix, [](SearchPathValues& seen) { --seen.withheld; }}},
     .concluded = nothing("withheld")},
    {.name = "a_wait_for_nothing_is_unexplained",
     .changes = {{kSix, [](SearchPathValues& seen) { seen.unexplained = 1; }}},
     .concluded = nothing("for nothing that was seen", {}, 1)},
    {.name = "without_musl_its_cells_are_skipped_and_the_rest_is_concluded",
     .changes = {{"*musl.*", lack_musl}},
     .concluded = {.verdict = ScenarioVerdict::kReproduced,
                   .says = {{"musl.list-6", "musl-tools"}},
                   .cells = {{"musl.list-6", CellVerdict::kSkip}},
                   .cured = true}},
    {.name = "an_agent_that_died_concludes_nothing",
     .changes = {{"control.no-loss",
                  [](SearchPathValues& seen) { seen.objections = {"ended by signal 9"}; }}},
     .concluded = nothing("ended by signal 9")},
    {.name = "nothing_executed_concludes_nothing",
     .concluded = nothing("nothing was measured"),
     .without = "*"},
    {.name = "no_lookup_concludes_nothing",
     .changes = {{kSix, [](SearchPathValues& seen) { seen = {}; }}},
     .concluded = nothing("no name was looked up"),
     .only = kSix},
};

[[maybe_unused]] const bool kAdded =
    add_cases(search_path_plan, as_usual_path, {kRows, other_causes()});

BOOST_AUTO_TEST_CASE(no_sentence_says_what_no_value_bears_out) {
    ten_thousand({{"for names of the search list alone", {"by_search"}},
                  {"for the name itself", {"by_name"}},
                  {"the answers did not come", {"by_other"}},
                  {"for nothing that was seen", {"unexplained"}},
                  {"`use-vc` is none", {"killed"}}},
                 [](Dice& dice) {
                     std::vector<MeasuredSearchPathCell> cells;
                     for (const SearchPathCell& what : search_path_plan()) {
                         SearchPathValues seen = as_usual_path(what);
                         const bool shows = what.shows != PathShows::kNothing;
                         if (!shows && dice.one_in(12)) {
                             seen.by_search = dice.up_to(2);
                             seen.by_name = dice.up_to(1);
                         }
                         if (!shows && dice.one_in(60)) {
                             seen.by_search = seen.by_name = 0;
                             seen.by_other = dice.up_to(3);
                             seen.other = seen.by_other != 0 ? "answer-lost" : "";
                         }
                         if (!shows && dice.one_in(90)) {
                             seen.unexplained = dice.up_to(1);
                             seen.by_search = std::min<std::uint64_t>(seen.by_search, 1);
                         }
                         if (dice.one_in(90)) {
                             seen.killed = dice.up_to(1);
                         }
                         if (dice.one_in(200)) {
                             seen.objections = {"ended by signal 9"};
                         }
                         if (!dice.one_in(9)) {
                             cells.push_back({.what = what, .seen = seen});
                         }
                     }
                     return conclude(cells);
                 });
}

BOOST_AUTO_TEST_SUITE_END()
