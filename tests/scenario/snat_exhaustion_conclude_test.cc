// Conclusions of snat-exhaustion from plain values, and the computed share of failures.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "harness/scenario/service_path/snat_exhaustion.h"
#include "tests/scenario/path_conclusions.h"

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

using ExhaustionChange = std::function<void(ExhaustionValues&)>;

verdict::ScenarioResult exhausted(const std::string& id, const ExhaustionChange& change) {
    std::vector<MeasuredExhaustionCell> cells;
    for (const ExhaustionCell& what : snat_exhaustion_plan()) {
        cells.push_back({.what = what, .seen = starved_as_usual(what), .evidence = {}});
        if (what.id == id || id == "*") {
            change(cells.back().seen);
        }
    }
    const auto result = conclude(cells);
    for (const std::string& claim : false_sentences(result, kPortPhrases)) {
        BOOST_TEST(false, claim);
    }
    return result;
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

BOOST_AUTO_TEST_CASE(what_this_kernel_shows_is_reproduced_named_and_cured) {
    const auto result = exhausted("", [](ExhaustionValues&) {});
    BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced), result.headline);
    BOOST_TEST(result.cure_shown, result.cure);
    BOOST_TEST(
        contains(result.headline, "97 to 99 % in use: 71 of 235 flows failed (computed 68.0"),
        result.headline);
    BOOST_TEST(contains(result.cause, "248 tries"), result.cause);
    BOOST_TEST(contains(result.cause, "162 flows failed, insert_failed rose by 162"), result.cause);
    BOOST_TEST(contains(result.cure, "none of 235 flows failed"), result.cure);
    BOOST_TEST(cell(result, "fill-99").cause == "port-search");
    BOOST_TEST(result.before_cell == "fill-95");
    BOOST_TEST(result.after_cell == "cure.all-ports");
    BOOST_TEST(result.controls.size() == 3U);
    BOOST_REQUIRE(result.charts.size() == 1U);
    BOOST_TEST(result.charts[0].bars.size() == 18U);  // seven of the curve beside those computed
}

// In a range of which half is free the search fails for nobody.
BOOST_AUTO_TEST_CASE(refusals_beyond_what_the_search_leaves_have_another_cause) {
    const auto result = exhausted("fill-50", [](ExhaustionValues& seen) {
        starve(seen, 20);
        seen.expected = seen.variance = 0;
    });
    BOOST_TEST(cell(result, "fill-50").cause == "insert-failed", cell(result, "fill-50").reason);
    BOOST_TEST((result.verdict == ScenarioVerdict::kInconclusive), result.headline);
}

BOOST_AUTO_TEST_CASE(a_control_that_shows_it_proves_nothing) {
    for (const char* id : {"control.empty-range", "control.all-ports"}) {
        inconclusive(exhausted(id, [](ExhaustionValues& seen) { starve(seen, 2); }), id);
    }
}

BOOST_AUTO_TEST_CASE(a_cure_that_fails_is_not_shown) {
    for (const auto& [why, change] : std::vector<std::pair<std::string, ExhaustionChange>>{
             {"4 of 235 flows failed", [](ExhaustionValues& seen) { starve(seen, 4); }},
             {"17 of 8192 ports were in use",
              [](ExhaustionValues& seen) { seen.used_before = 17; }}}) {
        const auto result = exhausted("cure.all-ports", change);
        BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced), why);
        BOOST_TEST(!result.cure_shown, why);
        BOOST_TEST(contains(result.cure, why), result.cure);
    }
    const auto gone =
        exhausted("fill-99.after-cure", [](ExhaustionValues& seen) { starve(seen, 0); });
    BOOST_TEST(!gone.cure_shown);
    BOOST_TEST(contains(gone.cure, "was not seen again"), gone.cure);
}

BOOST_AUTO_TEST_CASE(where_each_flow_gets_a_port_nothing_is_reproduced) {
    const auto result = exhausted("*", [](ExhaustionValues& seen) { starve(seen, 0); });
    BOOST_TEST((result.verdict == ScenarioVerdict::kNotReproduced), result.headline);
    BOOST_TEST(result.cure.empty());
}

// Traps: the same symptom by another cause.
BOOST_AUTO_TEST_CASE(a_range_that_is_really_full_is_not_given_this_cause) {
    const auto result = exhausted("fill-99", [](ExhaustionValues& seen) { seen.fewest_free = 0; });
    inconclusive(result, "refused when they were inserted");
    BOOST_TEST(cell(result, "fill-99").cause == "insert-failed");
}

BOOST_AUTO_TEST_CASE(a_filter_is_not_given_this_cause) {
    const auto result = exhausted("*", [](ExhaustionValues& seen) {
        starve(seen, 100);
        seen.path.drop = seen.path.insert_failed = 0;
    });
    inconclusive(result, "rules of netfilter dropped 100");
    BOOST_TEST(cell(result, "fill-99").cause == "rule-drop");
}

BOOST_AUTO_TEST_CASE(random_loss_is_not_given_this_cause) {
    const auto result = exhausted("fill-99", [](ExhaustionValues& seen) {
        starve(seen, 71);
        seen.made -= 30;
        seen.path.out -= 30;
    });
    inconclusive(result, "101 of 235 packets did not come out");
    BOOST_TEST(cell(result, "fill-99").cause == "lost");
    BOOST_TEST(result.unexplained == 101U);
}

BOOST_AUTO_TEST_CASE(a_full_table_is_not_given_this_cause) {
    const auto result = exhausted("fill-99", [](ExhaustionValues& seen) {
        starve(seen, 71);
        seen.path.insert_failed = 0;
    });
    inconclusive(result, "conntrack dropped 71 for want of an entry");
    BOOST_TEST(cell(result, "fill-99").cause == "table-full");
}

BOOST_AUTO_TEST_CASE(a_dead_link_is_not_given_this_cause) {
    const auto result = exhausted(
        "*", [](ExhaustionValues& seen) { seen.path = {.in = 235, .out = 0, .outages = {"d1"}}; });
    inconclusive(result, "d1 had no link");
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_together_is_not_said) {
    inconclusive(exhausted("fill-99", [](ExhaustionValues& seen) { --seen.path.insert_failed; }),
                 "71 of 235 flows failed");
    const auto unheard = exhausted("fill-99", [](ExhaustionValues& seen) {
        --seen.made;
        seen.overruns = 1;
    });
    inconclusive(unheard, "events of conntrack were lost");
    const auto unexplained = exhausted("fill-50", [](ExhaustionValues& seen) { seen.made -= 3; });
    inconclusive(unexplained, "though each packet came out of the DUT");
    BOOST_TEST(unexplained.unexplained == 3U);
}

BOOST_AUTO_TEST_CASE(an_agent_that_died_and_nothing_executed_conclude_nothing) {
    inconclusive(
        exhausted("fill-50",
                  [](ExhaustionValues& seen) { seen = {.objections = {"ended by signal 9"}}; }),
        "ended by signal 9");
    inconclusive(exhausted("fill-50", [](ExhaustionValues& seen) { seen.used_before = 9; }),
                 "9 of 8192 ports were in use, not 45 %");
    inconclusive(conclude(std::vector<MeasuredExhaustionCell>{}), "nothing was measured");
    inconclusive(conclude({{.what = snat_exhaustion_plan()[1], .seen = {}, .evidence = {}}}),
                 "no flow was begun");
}

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
