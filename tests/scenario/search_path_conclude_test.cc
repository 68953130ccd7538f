// Conclusions of search-path from plain values.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "harness/scenario/resolvers/search_path.h"
#include "tests/scenario/path_conclusions.h"

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

verdict::ScenarioResult path_with(const std::string& id,
                                  const std::function<void(SearchPathValues&)>& change) {
    std::vector<MeasuredSearchPathCell> cells;
    for (const SearchPathCell& what : search_path_plan()) {
        cells.push_back({.what = what, .seen = as_usual_path(what)});
        if (what.id == id || id == "*") {
            change(cells.back().seen);
        }
    }
    return conclude(cells);
}

const auto kAsItIs = [](SearchPathValues&) {};

// Lookups that wait, and a loss is not why.
auto waits_for(const std::string& other) {
    return [other](SearchPathValues& seen) {
        seen.by_search = seen.by_name = 0;
        seen.by_other = 4;
        seen.other = other;
    };
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

BOOST_AUTO_TEST_CASE(what_resolvers_show_is_reproduced_named_and_cured) {
    const auto result = path_with("", kAsItIs);
    BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced), result.headline);
    BOOST_TEST(result.cure_shown, result.cure);
    BOOST_TEST(contains(result.headline, "7 names, 14 queries a lookup"), result.headline);
    BOOST_TEST(contains(result.headline, "computed"), result.headline);
    BOOST_TEST(contains(result.cure, "does not find 3 of 3 names"), result.cure);
    BOOST_TEST(contains(result.cure, "`use-vc` is none: 2 of 2"), result.cure);
    BOOST_TEST(cell(result, "glibc.list-6").cause == "search-path");
    BOOST_TEST(result.before_cell == "glibc.list-6");
    BOOST_TEST(result.after_cell == "cure.trailing-dot");
}

BOOST_AUTO_TEST_CASE(a_control_that_waits_for_a_name_of_the_list_proves_nothing) {
    for (const char* id : {"control.no-loss", "control.first-of-list", "control.five-dots"}) {
        inconclusive(path_with(id, [](SearchPathValues& seen) { seen.by_search = 1; }), id);
    }
}

BOOST_AUTO_TEST_CASE(losses_of_the_name_itself_are_not_the_lists) {
    const auto result = path_with("glibc.list-6", [](SearchPathValues& seen) {
        seen.by_name = seen.by_search;
        seen.by_search = 0;
    });
    BOOST_TEST((cell(result, "glibc.list-6").verdict == verdict::CellVerdict::kPass));
}

BOOST_AUTO_TEST_CASE(a_cure_that_fails_is_not_shown) {
    const auto result =
        path_with("cure.ndots-2", [](SearchPathValues& seen) { seen.by_search = 2; });
    BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced));
    BOOST_TEST(!result.cure_shown);
    BOOST_TEST(contains(result.cure, "not shown: cure.ndots-2"), result.cure);
    std::vector<MeasuredSearchPathCell> cells;
    for (const SearchPathCell& what : search_path_plan()) {
        if (!what.again) {
            cells.push_back({.what = what, .seen = as_usual_path(what)});
        }
    }
    BOOST_TEST(!conclude(cells).cure_shown);
}

// Traps: the same symptom by another cause.
BOOST_AUTO_TEST_CASE(slow_servers_lost_answers_and_strangers_are_not_given_this_cause) {
    for (const char* other : {"late-answer", "answer-lost", "query-lost", "foreign-answer"}) {
        const auto result = path_with("glibc.list-6", waits_for(other));
        inconclusive(result, "glibc.list-6");
        BOOST_TEST(cell(result, "glibc.list-6").cause == other);
        const auto both = path_with("glibc.list-6", [&](SearchPathValues& seen) {
            seen.by_other = 1;
            seen.other = other;
        });
        inconclusive(both, "glibc.list-6");
        BOOST_TEST(cell(both, "glibc.list-6").cause == std::string("search-path+") + other);
    }
}

BOOST_AUTO_TEST_CASE(a_resolver_that_asks_otherwise_and_waits_for_nothing_conclude_nothing) {
    inconclusive(path_with("glibc.list-6", [](SearchPathValues& seen) { seen.fewest_queries = 2; }),
                 "2 to 14 queries, and 14 are computed");
    inconclusive(path_with("glibc.list-6", [](SearchPathValues& seen) { --seen.withheld; }),
                 "withheld");
    const auto result =
        path_with("glibc.list-6", [](SearchPathValues& seen) { seen.unexplained = 1; });
    inconclusive(result, "for nothing that was seen");
    BOOST_TEST(result.unexplained == 1U);
}

BOOST_AUTO_TEST_CASE(without_musl_its_cells_are_skipped_and_the_rest_is_concluded) {
    std::vector<MeasuredSearchPathCell> cells;
    for (const SearchPathCell& what : search_path_plan()) {
        cells.push_back({.what = what, .seen = as_usual_path(what)});
        if (what.who == resolver::Kind::kMusl) {
            cells.back().seen = {.lacking = "install musl-tools"};
        }
    }
    const auto result = conclude(cells);
    BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced), result.headline);
    BOOST_TEST(result.cure_shown, result.cure);
    BOOST_TEST((cell(result, "musl.list-6").verdict == verdict::CellVerdict::kSkip));
    BOOST_TEST(contains(cell(result, "musl.list-6").reason, "musl-tools"));
}

BOOST_AUTO_TEST_CASE(an_agent_that_died_and_nothing_executed_conclude_nothing) {
    inconclusive(path_with("control.no-loss",
                           [](SearchPathValues& seen) { seen.objections = {"ended by signal 9"}; }),
                 "ended by signal 9");
    inconclusive(conclude(std::vector<MeasuredSearchPathCell>{}), "nothing was measured");
    inconclusive(conclude({{.what = path_cell("glibc.list-6")}}), "no name was looked up");
}

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
