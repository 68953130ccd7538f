// Conclusions of table-full from plain values.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "harness/scenario/service_path/table_full.h"
#include "tests/scenario/conclusion_table.h"

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

void follow_all(TableValues& seen) {
    seen.datagrams_arrived = 64;
    seen.connected = 16;
    seen.path = {.in = 128, .out = 128};
    seen.evicted.clear();
}

void lose_for_want_of_room(TableValues& seen) {
    lose_all(seen);
    seen.path.drop = 128;
}

void evict_three(TableValues& seen) {
    seen.path.early_drop = 3;
    seen.evicted.resize(3);
}

// Follows packets to where they ended.
auto ended(std::uint64_t by_table, std::uint64_t by_rule) {
    return [=](TableValues& seen) {
        seen.path.ends = {.dropped = {{.cause = "table-full", .text = "A", .packets = by_table},
                                      {.cause = "rule", .text = "B", .packets = by_rule}},
                          .not_followed = ""};
    };
}

using Rows = std::vector<Row<TableCell, TableValues>>;

}  // namespace

const Rows kShown = {
    {.name = "what_this_kernel_shows_is_reproduced_named_and_cured",
     .concluded = {.verdict = ScenarioVerdict::kReproduced,
                   .says = {{"headline", "80 of 80 new flows failed"},
                            {"headline", "81 entries of other flows went"},
                            {"cause", "262144 entries of at most 262144"},
                            {"cause", "likely: by drop less insert_failed"},
                            {"cure", "4096 deleted"}},
                   .causes = {{"answered", "table-full"}, {"unanswered", "early-drop"}},
                   .cured = true,
                   .before = "answered",
                   .after = "cure.delete-entries",
                   .controls = 2,
                   .proofs = 1,
                   .more =
                       [](const ScenarioResult& result) {
                           BOOST_TEST(result.proofs.front().rows.size() == 8U);
                       }}},
    {.name = "packets_that_were_followed_make_the_cause_certain",
     .changes = {{"*", ended(128, 0)}},
     .concluded = {.says = {{"cause", "each of them followed to there"}},
                   .causes = {{"answered", "table-full"}}}},
    {.name = "where_new_flows_get_through_nothing_is_reproduced",
     .changes = {{"*", follow_all}},
     .concluded = {.verdict = ScenarioVerdict::kNotReproduced}},
    // Somebody else deletes the entries at once: nothing fails, and the cure has nothing to do.
    {.name = "nothing_to_delete_in_a_healthy_system_is_no_failure",
     .changes = {{"*", follow_all}, {"*", [](TableValues& seen) { seen.deleted = 0; }}},
     .concluded = {.verdict = ScenarioVerdict::kNotReproduced,
                   .more =
                       [](ScenarioResult result) {
                           result.id = "table-full";
                           const auto [verdict, reasons] = verdict::judge_run({result});
                           BOOST_TEST((verdict == verdict::RunVerdict::kQualified),
                                      reasons.front());
                       }}},
};

const Rows kCures = {
    {.name = "a_cure_with_which_flows_fail_is_not_shown",
     .changes = {{"cure.delete-entries", lose_for_want_of_room},
                 {"cure.delete-entries", [](TableValues& seen) { seen.entries = seen.maximum; }}},
     .concluded = not_cured("80 of 80 new flows failed")},
    {.name = "no_entry_to_delete_shows_no_cure",
     .changes = {{"cure.delete-entries", [](TableValues& seen) { seen.deleted = 0; }}},
     .concluded = not_cured("no entry to delete")},
    {.name = "a_cure_with_which_others_go_is_not_shown",
     .changes = {{"cure.delete-entries", [](TableValues& seen) { seen.path.early_drop = 2; }}},
     .concluded = not_cured("early_drop rose by 2")},
    {.name = "a_failure_that_does_not_come_back_shows_no_cure",
     .changes = {{"answered.after-cure",
                  [](TableValues& seen) {
                      seen = as_usual({.id = "", .label = "", .percent = 50});
                      seen.entries = seen.maximum;
                  }}},
     .concluded = {.says = {{"cure", "was not seen again"}}, .cured = false}},
};

const Rows kControls = {
    {.name = "half_a_table_that_drops_proves_nothing",
     .changes = {{"control.half.answered", lose_for_want_of_room}},
     .concluded = nothing("control.half.answered")},
    {.name = "half_a_table_that_evicts_proves_nothing",
     .changes = {{"control.half.answered", evict_three}},
     .concluded = nothing("early_drop rose by 3")},
    {.name = "half_a_table_of_unanswered_flows_that_drops_proves_nothing",
     .changes = {{"control.half.unanswered", lose_for_want_of_room}},
     .concluded = nothing("control.half.unanswered")},
    {.name = "half_a_table_of_unanswered_flows_that_evicts_proves_nothing",
     .changes = {{"control.half.unanswered", evict_three}},
     .concluded = nothing("early_drop rose by 3")},
    // conntrack may drop others' packets meanwhile.
    {.name = "drops_without_a_flow_of_our_own_conclude_nothing",
     .changes = {{"answered",
                  [](TableValues& seen) {
                      seen.flows = seen.datagrams = seen.connects = 0;
                      seen.datagrams_arrived = seen.connected = 0;
                  }}},
     .concluded = nothing("no flow was begun")},
    {.name = "an_agent_that_died_concludes_nothing",
     .changes = {{"answered",
                  [](TableValues& seen) { seen = {.objections = {"ended by signal 9"}}; }}},
     .concluded = nothing("ended by signal 9")},
    {.name = "a_table_that_was_not_filled_concludes_nothing",
     .changes = {{"answered",
                  [](TableValues& seen) {
                      seen = as_usual({.id = "", .label = "", .percent = 50});
                  }}},
     .concluded = nothing("the table held 131072 of 262144 entries that it takes")},
    {.name = "nothing_executed_concludes_nothing",
     .concluded = nothing("nothing was measured"),
     .without = "*"},
    {.name = "no_flow_concludes_nothing",
     .changes = {{"answered", [](TableValues& seen) { seen = {}; }}},
     .concluded = nothing("no flow was begun"),
     .only = "answered"},
};

// Traps: the same symptom by another cause.
const Rows kTraps = {
    {.name = "drops_of_strangers_do_not_make_the_table_the_cause",
     .changes = {{"answered",
                  [](TableValues& seen) {
                      seen.path.drop = seen.path.netfilter_drops = 365;
                      seen.path.ends = {.dropped = {{.cause = "tc-ingress",
                                                     .text = "dropped by tc at ingress, device d0",
                                                     .packets = 128}},
                                        .not_followed = ""};
                  }}},
     .concluded = nothing("128 dropped by tc at ingress, device d0", {{"answered", "tc-ingress"}})},
    {.name = "two_causes_at_once_are_both_named",
     .changes = {{"answered", ended(100, 28)}},
     .concluded = {.causes = {{"answered", "table-full+rule-drop"}}}},
    {.name = "a_rest_beside_two_causes_is_unexplained",
     .changes = {{"answered", ended(100, 8)}},
     .concluded = {.says = {{"answered", "20 nowhere that was seen"}},
                   .causes = {{"answered", "lost"}},
                   .unexplained = 128}},
    {.name = "a_filter_is_not_given_this_cause",
     .changes = {{"*", lose_all},
                 {"*",
                  [](TableValues& seen) {
                      seen.path.drop = 0;
                      seen.path.netfilter_drops = 128;
                  }}},
     .concluded = nothing("rules of netfilter dropped 128", {{"answered", "rule-drop"}})},
    {.name = "random_loss_is_not_given_this_cause",
     .changes = {{"control.half.answered",
                  [](TableValues& seen) {
                      seen.datagrams_arrived = 45;
                      seen.path.out = 100;
                  }}},
     .concluded =
         nothing("28 of 128 packets did not come out", {{"control.half.answered", "lost"}}, 28)},
    {.name = "a_small_range_of_ports_is_not_given_this_cause",
     .changes = {{"*", lose_all},
                 {"*", [](TableValues& seen) { seen.path.drop = seen.path.insert_failed = 128; }}},
     .concluded = nothing("insert_failed rose by 128", {{"answered", "insert-failed"}})},
    {.name = "a_dead_link_is_not_given_this_cause",
     .changes = {{"*", lose_all},
                 {"*",
                  [](TableValues& seen) {
                      seen.path.drop = 0;
                      seen.path.outages = {"d1"};
                  }}},
     .concluded = nothing("d1 had no link", {{"control.half.answered", "link-down"}})},
    {.name = "a_server_that_does_not_answer_is_unexplained",
     .changes = {{"answered",
                  [](TableValues& seen) {
                      seen.connected = 0;
                      seen.datagrams_arrived = 64;
                      seen.path = {.in = 128, .out = 128};
                  }}},
     .concluded = nothing("though each packet came out of the DUT", {}, 16)},
    {.name = "entries_that_go_uncounted_are_unexplained",
     .changes = {{"unanswered", [](TableValues& seen) { seen.path.early_drop = 0; }}},
     .concluded = nothing("81 entries of other flows went, and early_drop counted none", {}, 81)},
};

[[maybe_unused]] const bool kAdded =
    add_cases(table_full_plan, as_usual, {kShown, kCures, kControls, kTraps}, kTablePhrases);

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
