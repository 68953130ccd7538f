// Conclusions of table-full from plain values.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "harness/scenario/service_path/table_full.h"
#include "tests/scenario/path_conclusions.h"

BOOST_AUTO_TEST_SUITE(table_full_conclude)

using namespace pathproof;
using namespace pathproof::scenario;
using namespace conclusions;

namespace {

const std::vector<Phrase> kTablePhrases = {
    {"early_drop rose", {"early_drop"}},
    {"for want of", {"drop"}},
    {"insert_failed rose", {"insert_failed"}},
    {"entries of other flows went", {"evicted"}},
    {"full of flows without an answer", {"early_drop"}},
};

void lose_all(TableValues& seen) {
    seen.datagrams_arrived = seen.connected = 0;
    seen.path.in = 128;
    seen.path.out = 0;
}

// The machine this was written on.
TableValues as_usual(const TableCell& what) {
    TableValues seen{.maximum = 262'144,
                     .entries = what.percent == 50 ? 131'072U : 262'144U,
                     .flows = 80,
                     .datagrams = 64,
                     .datagrams_arrived = 64,
                     .connects = 16,
                     .connected = 16,
                     .path = {.in = 128, .out = 128}};
    if (what.deletes) {
        seen.entries -= seen.deleted = 4096;
        seen.cure_command = "conntrack -D -p udp --orig-dst 198.51.100.10";
    } else if (what.full() && what.assured) {
        lose_all(seen);
        seen.path.drop = seen.path.netfilter_drops = 128;
    } else if (what.full()) {
        seen.path.early_drop = 81;
        seen.evicted.resize(81, {"udp 198.19.0.0:1024 > 198.51.100.10:20000", "udp 198.18.0.2:1"});
    }
    return seen;
}

using Change = std::function<void(TableValues&)>;

verdict::ScenarioResult with(const std::string& id, const Change& change) {
    std::vector<MeasuredTableCell> cells;
    for (const TableCell& what : table_full_plan()) {
        cells.push_back({.what = what, .seen = as_usual(what), .evidence = {}});
        if (what.id == id || id == "*") {
            change(cells.back().seen);
        }
    }
    const auto result = conclude(cells);
    for (const std::string& claim : false_sentences(result, kTablePhrases)) {
        BOOST_TEST(false, claim);
    }
    return result;
}

}  // namespace

// conntrack may drop others' packets meanwhile.
BOOST_AUTO_TEST_CASE(drops_without_a_flow_of_our_own_conclude_nothing) {
    const auto result = with("answered", [](TableValues& seen) {
        seen.flows = seen.datagrams = seen.connects = 0;
        seen.datagrams_arrived = seen.connected = 0;
    });
    BOOST_TEST((result.verdict == ScenarioVerdict::kInconclusive), result.headline);
    BOOST_TEST(contains(result.headline, "no flow was begun"), result.headline);
}

BOOST_AUTO_TEST_CASE(what_this_kernel_shows_is_reproduced_named_and_cured) {
    const auto result = with("", [](TableValues&) {});
    BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced), result.headline);
    BOOST_TEST(result.cure_shown, result.cure);
    BOOST_TEST(contains(result.headline, "80 of 80 new flows failed"), result.headline);
    BOOST_TEST(contains(result.headline, "81 entries of other flows went"), result.headline);
    BOOST_TEST(contains(result.cause, "262144 entries of at most 262144"), result.cause);
    BOOST_TEST(contains(result.cure, "4096 deleted"), result.cure);
    BOOST_TEST(cell(result, "answered").cause == "table-full");
    BOOST_TEST(cell(result, "unanswered").cause == "early-drop");
    BOOST_TEST(result.before_cell == "answered");
    BOOST_TEST(result.after_cell == "cure.delete-entries");
    BOOST_TEST(result.controls.size() == 2U);
    BOOST_REQUIRE(result.proofs.size() == 1U);
    BOOST_TEST(result.proofs[0].rows.size() == 8U);
}

BOOST_AUTO_TEST_CASE(a_control_that_shows_it_proves_nothing) {
    for (const char* id : {"control.half.answered", "control.half.unanswered"}) {
        inconclusive(with(id,
                          [](TableValues& seen) {
                              lose_all(seen);
                              seen.path.drop = 128;
                          }),
                     id);
        inconclusive(with(id,
                          [](TableValues& seen) {
                              seen.path.early_drop = 3;
                              seen.evicted.resize(3);
                          }),
                     "early_drop rose by 3");
    }
}

BOOST_AUTO_TEST_CASE(a_cure_that_fails_is_not_shown) {
    for (const auto& [why, change] : std::vector<std::pair<std::string, Change>>{
             {"80 of 80 new flows failed",
              [](TableValues& seen) {
                  lose_all(seen);
                  seen.path.drop = 128;
                  seen.entries = seen.maximum;
              }},
             {"no entry to delete", [](TableValues& seen) { seen.deleted = 0; }},
             {"early_drop rose by 2", [](TableValues& seen) { seen.path.early_drop = 2; }}}) {
        const auto result = with("cure.delete-entries", change);
        BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced), why);
        BOOST_TEST(!result.cure_shown, why);
        BOOST_TEST(contains(result.cure, why), result.cure);
    }
    const auto gone = with("answered.after-cure", [](TableValues& seen) {
        seen = as_usual({.id = "", .label = "", .percent = 50});
        seen.entries = seen.maximum;
    });
    BOOST_TEST(!gone.cure_shown);
    BOOST_TEST(contains(gone.cure, "was not seen again"), gone.cure);
}

BOOST_AUTO_TEST_CASE(where_new_flows_get_through_nothing_is_reproduced) {
    const auto result = with("*", [](TableValues& seen) {
        seen.datagrams_arrived = 64;
        seen.connected = 16;
        seen.path = {.in = 128, .out = 128};
        seen.evicted.clear();
    });
    BOOST_TEST((result.verdict == ScenarioVerdict::kNotReproduced), result.headline);
    BOOST_TEST(result.cure.empty());
}

// Somebody else deletes the entries at once: nothing fails, and the cure has nothing to do.
BOOST_AUTO_TEST_CASE(nothing_to_delete_in_a_healthy_system_is_no_failure) {
    auto result = with("*", [](TableValues& seen) {
        seen.datagrams_arrived = 64;
        seen.connected = 16;
        seen.path = {.in = 128, .out = 128};
        seen.evicted.clear();
        seen.deleted = 0;
    });
    BOOST_TEST((result.verdict == ScenarioVerdict::kNotReproduced), result.headline);
    result.id = "table-full";
    const auto [verdict, reasons] = verdict::judge_run({result});
    BOOST_TEST((verdict == verdict::RunVerdict::kQualified), reasons.front());
}

// Traps: the same symptom by another cause.
BOOST_AUTO_TEST_CASE(drops_of_strangers_do_not_make_the_table_the_cause) {
    const auto result = with("answered", [](TableValues& seen) {
        seen.path.drop = seen.path.netfilter_drops = 365;
        seen.path.ends = {.dropped = {{.cause = "tc-ingress",
                                       .text = "dropped by tc at ingress, device d0",
                                       .packets = 128}},
                          .not_followed = ""};
    });
    inconclusive(result, "128 dropped by tc at ingress, device d0");
    BOOST_TEST(cell(result, "answered").cause == "tc-ingress");
}

BOOST_AUTO_TEST_CASE(two_causes_at_once_are_both_named_and_a_rest_is_unexplained) {
    const auto ended = [](std::uint64_t by_table, std::uint64_t by_rule) {
        return [=](TableValues& seen) {
            seen.path.ends = {.dropped = {{.cause = "table-full", .text = "A", .packets = by_table},
                                          {.cause = "rule", .text = "B", .packets = by_rule}},
                              .not_followed = ""};
        };
    };
    BOOST_TEST(cell(with("answered", ended(100, 28)), "answered").cause == "table-full+rule-drop");
    const auto rest = with("answered", ended(100, 8));
    BOOST_TEST(cell(rest, "answered").cause == "lost");
    BOOST_TEST(contains(cell(rest, "answered").reason, "20 nowhere that was seen"),
               cell(rest, "answered").reason);
    BOOST_TEST(rest.unexplained == 128U);
    const auto table = with("*", ended(128, 0));
    BOOST_TEST(cell(table, "answered").cause == "table-full");
    BOOST_TEST(contains(table.cause, "each of them followed to there"), table.cause);
    BOOST_TEST(contains(with("", [](TableValues&) {}).cause, "likely: by drop less insert_failed"));
}

BOOST_AUTO_TEST_CASE(a_filter_is_not_given_this_cause) {
    const auto result = with("*", [](TableValues& seen) {
        lose_all(seen);
        seen.path.drop = 0;
        seen.path.netfilter_drops = 128;
    });
    inconclusive(result, "rules of netfilter dropped 128");
    BOOST_TEST(cell(result, "answered").cause == "rule-drop");
}

BOOST_AUTO_TEST_CASE(random_loss_is_not_given_this_cause) {
    const auto result = with("control.half.answered", [](TableValues& seen) {
        seen.datagrams_arrived = 45;
        seen.path.out = 100;
    });
    inconclusive(result, "28 of 128 packets did not come out");
    BOOST_TEST(cell(result, "control.half.answered").cause == "lost");
    BOOST_TEST(result.unexplained == 28U);
}

BOOST_AUTO_TEST_CASE(a_small_range_of_ports_is_not_given_this_cause) {
    const auto result = with("*", [](TableValues& seen) {
        lose_all(seen);
        seen.path.drop = seen.path.insert_failed = 128;
    });
    inconclusive(result, "insert_failed rose by 128");
    BOOST_TEST(cell(result, "answered").cause == "insert-failed");
}

BOOST_AUTO_TEST_CASE(a_dead_link_is_not_given_this_cause) {
    const auto result = with("*", [](TableValues& seen) {
        lose_all(seen);
        seen.path.drop = 0;
        seen.path.outages = {"d1"};
    });
    inconclusive(result, "d1 had no link");
    BOOST_TEST(cell(result, "control.half.answered").cause == "link-down");
}

BOOST_AUTO_TEST_CASE(a_server_that_does_not_answer_is_unexplained) {
    const auto result = with("answered", [](TableValues& seen) {
        seen.connected = 0;
        seen.datagrams_arrived = 64;
        seen.path = {.in = 128, .out = 128};
    });
    inconclusive(result, "though each packet came out of the DUT");
    BOOST_TEST(result.unexplained == 16U);
}

BOOST_AUTO_TEST_CASE(entries_that_go_uncounted_are_unexplained) {
    const auto result = with("unanswered", [](TableValues& seen) { seen.path.early_drop = 0; });
    inconclusive(result, "81 entries of other flows went, and early_drop counted none");
    BOOST_TEST(result.unexplained == 81U);
}

BOOST_AUTO_TEST_CASE(an_agent_that_died_and_nothing_executed_conclude_nothing) {
    inconclusive(
        with("answered", [](TableValues& seen) { seen = {.objections = {"ended by signal 9"}}; }),
        "ended by signal 9");
    inconclusive(
        with("answered",
             [](TableValues& seen) { seen = as_usual({.id = "", .label = "", .percent = 50}); }),
        "the table held 131072 of 262144 entries that it takes");
    inconclusive(conclude(std::vector<MeasuredTableCell>{}), "nothing was measured");
    inconclusive(conclude({{.what = table_full_plan()[1], .seen = {}, .evidence = {}}}),
                 "no flow was begun");
}

BOOST_AUTO_TEST_CASE(no_sentence_says_what_no_value_bears_out) {
    ten_thousand(kTablePhrases, [](Dice& dice) {
        std::vector<MeasuredTableCell> cells;
        for (const TableCell& what : table_full_plan()) {
            TableValues seen = as_usual(what);
            if (dice.one_in(9)) {
                seen.entries = dice.up_to(seen.maximum);
                seen.datagrams_arrived = dice.up_to(64);
                seen.connected = dice.up_to(16);
                seen.path = {
                    .in = dice.up_to(200), .out = dice.up_to(200), .drop = dice.up_to(200)};
                seen.path.insert_failed = dice.up_to(seen.path.drop);
                seen.path.netfilter_drops = dice.up_to(200);
                seen.path.outages.resize(dice.up_to(1), "d1");
            }
            if (dice.one_in(9)) {
                seen.path.early_drop = dice.up_to(90);
                seen.evicted.resize(dice.up_to(90));
                seen.overruns = dice.up_to(2);
                seen.deleted = dice.up_to(4096);
            }
            if (!dice.one_in(9)) {
                cells.push_back({.what = what, .seen = seen, .evidence = {}});
            }
        }
        return conclude(cells);
    });
}

BOOST_AUTO_TEST_SUITE_END()
