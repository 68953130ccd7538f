// Conclusions of nodelocal from plain values.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "harness/scenario/resolvers/nodelocal.h"
#include "tests/scenario/path_conclusions.h"

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

verdict::ScenarioResult node_with(const std::string& id,
                                  const std::function<void(NodelocalValues&)>& change) {
    std::vector<MeasuredNodelocalCell> cells;
    for (const NodelocalCell& what : nodelocal_plan()) {
        cells.push_back({.what = what, .seen = node_as_usual(what), .evidence = {}});
        if (what.id == id || id == "*") {
            change(cells.back().seen);
        }
    }
    return conclude(cells);
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_this_kernel_shows_is_reproduced_named_and_cured) {
    const auto result = node_with("", [](NodelocalValues&) {});
    BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced), result.headline);
    BOOST_TEST(result.cure_shown, result.cure);
    BOOST_TEST(cell(result, "no-cache").cause == "conntrack-race");
    BOOST_TEST(contains(result.cause, "clash_resolve rose by 43"), result.cause);
    BOOST_TEST(contains(result.cure, "dnsmasq in the place of its CoreDNS"), result.cure);
    BOOST_TEST(contains(result.cure, "while the cache is down none of 40 pairs are answered"),
               result.cure);
    BOOST_TEST(contains(result.cure, "the policy dropped 80 packets"), result.cure);
    BOOST_TEST(contains(result.cure, "raw rules flushed conntrack had 1000 entries"), result.cure);
    BOOST_TEST(result.unexplained == 0U);
    BOOST_TEST(contains(cell(result, "cure.link-local").toggles[0].second, "bridge without ports"));
    BOOST_TEST((cell(result, "cache-down").verdict == verdict::CellVerdict::kPass));
}

BOOST_AUTO_TEST_CASE(clashes_that_harm_nobody_are_exposed) {
    const auto result = node_with("*", [](NodelocalValues& seen) {
        if (seen.untranslated != 0) {
            seen.answered = seen.pairs;
            seen.untranslated = 0;
        }
    });
    BOOST_TEST((result.verdict == ScenarioVerdict::kExposed), result.headline);
    BOOST_TEST(!result.cure_shown);
    BOOST_TEST(contains(result.headline, "all 1000 pairs were answered"), result.headline);
}

BOOST_AUTO_TEST_CASE(where_no_pair_races_nothing_is_reproduced) {
    const auto result = node_with("*", [](NodelocalValues& seen) {
        if (seen.clash_resolve != 0) {
            seen.answered = seen.pairs;
            seen.untranslated = seen.clash_resolve = 0;
        }
    });
    BOOST_TEST((result.verdict == ScenarioVerdict::kNotReproduced), result.headline);
    BOOST_TEST(result.cause.empty());
}

BOOST_AUTO_TEST_CASE(a_control_that_races_proves_nothing) {
    inconclusive(node_with("control.one-by-one", [](NodelocalValues& seen) { race(seen, 1); }),
                 "control.one-by-one");
    inconclusive(
        node_with("control.one-by-one", [](NodelocalValues& seen) { seen.clash_resolve = 1; }),
        "clash_resolve rose by 1");
}

BOOST_AUTO_TEST_CASE(a_cure_that_does_not_go_past_conntrack_is_not_shown) {
    for (const auto& [why, change] :
         std::vector<std::pair<std::string, std::function<void(NodelocalValues&)>>>{
             {"1 entries of the clients' lookups",
              [](NodelocalValues& seen) { seen.client_entries = 1; }},
             {"the service's rule counted 1", [](NodelocalValues& seen) { seen.service_hits = 1; }},
             {"the raw rules counted 1999 of 2000",
              [](NodelocalValues& seen) { seen.raw_hits = 1999; }},
             {"clash_resolve rose by 2", [](NodelocalValues& seen) { seen.clash_resolve = 2; }},
             {"999 of 1000", [](NodelocalValues& seen) { seen.answered = 1; }}}) {
        const auto result = node_with("cure.service-address", change);
        BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced), why);
        BOOST_TEST(!result.cure_shown, why);
        BOOST_TEST(contains(result.cure, why), result.cure);
    }
    const auto gone = node_with("no-cache.after-cure", [](NodelocalValues& seen) {
        seen.answered = seen.pairs;
        seen.untranslated = seen.clash_resolve = 0;
    });
    BOOST_TEST(!gone.cure_shown);
    BOOST_TEST(contains(gone.cure, "was not seen again"), gone.cure);
}

BOOST_AUTO_TEST_CASE(a_demonstration_that_shows_nothing_is_none) {
    const std::vector<std::pair<std::string, std::function<void(NodelocalValues&)>>> empty = {
        {"tracked", [](NodelocalValues& seen) { seen.client_entries = 7; }},
        {"cache-down", [](NodelocalValues& seen) { seen.answered = 1; }},
        {"input-by-state.notrack-alone", [](NodelocalValues& seen) { seen.answered = 1; }},
        {"input-by-state.notrack-alone", [](NodelocalValues& seen) { seen.policy_drops = 0; }},
        {"input-by-state.all-rules", [](NodelocalValues& seen) { seen.answered = 1; }}};
    for (const auto& [id, change] : empty) {
        const auto result = node_with(id, change);
        BOOST_TEST((cell(result, id).verdict == verdict::CellVerdict::kFail), id);
        BOOST_TEST(!cell(result, id).reason.empty(), id);
    }
}

// Traps: the same symptom by another cause.
BOOST_AUTO_TEST_CASE(other_causes_are_named_and_never_given_this_one) {
    const std::vector<std::pair<std::string, std::function<void(NodelocalValues&)>>> traps = {
        {"lost",
         [](NodelocalValues& seen) {
             seen.untranslated = 0;
             seen.clash_resolve = 5;
         }},
        {"server-error",
         [](NodelocalValues& seen) {
             seen.answered = 0;
             seen.errors = seen.pairs;
             seen.untranslated = seen.clash_resolve = 0;
         }},
        {"table-full",
         [](NodelocalValues& seen) {
             seen.untranslated = seen.clash_resolve = 0;
             seen.drop = 80;
         }},
        {"untranslated-answer", [](NodelocalValues& seen) { seen.clash_resolve = 0; }}};
    for (const auto& [cause, change] : traps) {
        const auto result = node_with("no-cache", change);
        inconclusive(result, "no-cache");
        BOOST_TEST(cell(result, "no-cache").cause == cause);
    }
    // Lost beside raced ones: counted as unexplained.
    const auto both = node_with("no-cache", [](NodelocalValues& seen) { seen.answered -= 5; });
    BOOST_TEST(cell(both, "no-cache").cause == "lost");
    BOOST_TEST(both.unexplained == 45U);
}

BOOST_AUTO_TEST_CASE(an_agent_that_died_and_nothing_executed_conclude_nothing) {
    inconclusive(node_with("cure.link-local",
                           [](NodelocalValues& seen) {
                               seen.objections = {"dnsmasq ended (exit status 2): in use"};
                           }),
                 "in use");
    inconclusive(conclude(std::vector<MeasuredNodelocalCell>{}), "nothing was measured");
    inconclusive(conclude({{.what = nodelocal_plan()[1], .seen = {}, .evidence = {}}}),
                 "no pair was sent");
}

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
