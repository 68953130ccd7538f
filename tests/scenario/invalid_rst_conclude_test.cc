// Conclusions of invalid-rst from plain values.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "harness/scenario/service_path/invalid_rst.h"
#include "tests/scenario/conclusion_table.h"

BOOST_AUTO_TEST_SUITE(invalid_rst_conclude)

using namespace pathproof;
using namespace pathproof::scenario;
using namespace conclusions;
using Role = verdict::Cell::Role;

namespace {

using Sends = SegmentCell::Sends;

void reset_by_segments(SegmentValues& seen, std::uint64_t connections = 8) {
    seen.invalid = seen.untranslated = seen.answered = connections;
    seen.broken = seen.reset = seen.by_segment = connections;
}

void reset_by_8(SegmentValues& seen) {
    reset_by_segments(seen);
}

void reset_by_1(SegmentValues& seen) {
    reset_by_segments(seen, 1);
}

void reset_by_server(SegmentValues& seen) {
    seen.broken = seen.reset = seen.by_server = 8;
}

void times_out(SegmentValues& seen) {
    seen.broken = 8;
}

// The machine this was written on.
SegmentValues as_usual(const SegmentCell& what) {
    SegmentValues seen{.liberal = what.is_liberal() ? "1" : "0",
                       .connects = 8,
                       .segments = what.sends == Sends::kNothing ? 0U : 8U};
    if (what.role == Role::kMatrix && what.sends == Sends::kAhead) {
        reset_by_segments(seen);
    } else if (what.one_way && what.drops()) {
        times_out(seen);
    } else if (what.drops()) {
        seen.invalid = 8;
    }
    return seen;
}

void nothing_breaks(SegmentValues& seen) {
    seen = {.liberal = seen.liberal, .connects = 8, .segments = seen.segments};
}

}  // namespace

const std::vector<Row<SegmentCell, SegmentValues>> kRows = {
    {.name = "what_this_kernel_shows_is_reproduced_named_and_cured",
     .concluded = {.verdict = ScenarioVerdict::kReproduced,
                   .says = {{"headline", "ahead: 8 of 8 connections broke (8 reset by peer)"},
                            {"headline", "late-copy: none of 8 connections broke"},
                            {"cause", "INVALID (8 counted)"},
                            {"cause",
                             "8 came to the client from the endpoint's own "
                             "address"},
                            {"cure",
                             "be_liberal=1` on the DUT (with it none of 8, "
                             "without again 8 of 8"}},
                   .causes = {{"ahead", "invalid-rst"}},
                   .cured = true,
                   .before = "ahead",
                   .after = "cure.be-liberal",
                   .controls = 3}},
    {.name = "each_cure_stands_beside_what_it_breaks",
     .concluded = {.says = {{"cure",
                             "answers pass by the DUT none of 8 broke with it, "
                             "without none of 8"},
                            {"cure",
                             "answers pass by the DUT 8 of 8 broke with it, "
                             "without none of 8"}},
                   .cells = {{"drop-invalid.one-way", CellVerdict::kPass}},
                   .more =
                       [](const ScenarioResult& result) {
                           BOOST_TEST(
                               (cell(result, "drop-invalid.one-way").role == Role::kDemonstration));
                       }}},
    {.name = "what_a_cure_breaks_is_not_said_without_its_cell",
     .concluded = {.says = {{"cure", "was not measured in this run"}}},
     .without = "drop-invalid.one-way"},
    {.name = "what_a_cure_breaks_is_not_said_without_its_control",
     .concluded = {.says = {{"cure", "was not measured in this run"}}},
     .without = "control.one-way"},
    {.name = "connections_of_one_direction_that_break_uncured_prove_nothing",
     .changes = {{"control.one-way", times_out}},
     .concluded = nothing("the control control.one-way: 8 of 8 connections broke")},
    {.name = "a_kernel_that_does_not_let_late_copies_pass_is_told_so",
     .changes = {{"late-copy", reset_by_8}},
     .concluded = {.verdict = ScenarioVerdict::kReproduced,
                   .says = {{"headline", "late-copy: 8 of 8 connections broke"}}}},
    {.name = "a_control_without_a_segment_that_shows_it_proves_nothing",
     .changes = {{"control.no-segment", reset_by_1}},
     .concluded = nothing("control.no-segment")},
    {.name = "a_control_without_a_segment_that_hangs_proves_nothing",
     .changes = {{"control.no-segment", times_out}},
     .concluded = nothing("control.no-segment")},
    {.name = "a_control_in_the_window_that_shows_it_proves_nothing",
     .changes = {{"control.in-window", reset_by_1}},
     .concluded = nothing("control.in-window")},
    {.name = "a_control_in_the_window_that_hangs_proves_nothing",
     .changes = {{"control.in-window", times_out}},
     .concluded = nothing("control.in-window")},
    {.name = "a_cure_that_fails_is_not_shown",
     .changes = {{"cure.be-liberal", [](SegmentValues& seen) { reset_by_segments(seen, 2); }}},
     .concluded = {.verdict = ScenarioVerdict::kReproduced,
                   .says = {{"cure", "not shown: 2 of 8 connections broke"}},
                   .cured = true,  // by the other
                   .after = "cure.drop-invalid"}},
    {.name = "a_failure_that_does_not_come_back_shows_no_cure",
     .changes = {{"ahead.after-cure", nothing_breaks}},
     .concluded = not_cured("was not seen again")},
    {.name = "where_each_segment_is_translated_nothing_is_reproduced",
     .changes = {{"*", nothing_breaks}},
     .concluded = {.verdict = ScenarioVerdict::kNotReproduced}},
    // Traps: the same symptom by another cause.
    {.name = "resets_of_the_server_are_not_given_this_cause",
     .changes = {{"ahead", nothing_breaks}, {"ahead", reset_by_server}},
     .concluded = nothing("8 as the server's side sent a RST", {{"ahead", "server-reset"}})},
    {.name = "resets_that_the_dut_made_are_not_the_servers",
     .changes = {{"ahead", nothing_breaks},
                 {"ahead",
                  [](SegmentValues& seen) {
                      seen.broken = seen.reset = seen.by_dut = 8;
                      seen.not_followed.clear();
                  }}},
     .concluded = {.verdict = ScenarioVerdict::kInconclusive,
                   .says = {{"headline", "8 as the DUT itself sent a RST"}},
                   .never_says = {{"headline", "the server's side sent"}},
                   .causes = {{"ahead", "dut-reset"}},
                   .cured = false}},
    {.name = "who_made_a_reset_is_not_said_where_it_was_not_followed",
     .changes = {{"ahead", nothing_breaks},
                 {"ahead", reset_by_server},
                 {"ahead", [](SegmentValues& seen) { seen.not_followed = "no BTF"; }}},
     .concluded = nothing("or a rule of the DUT: by capture, not by packet")},
    {.name = "segments_of_a_flow_whose_entry_is_gone_are_not_given_this_cause",
     .changes = {{"ahead",
                  [](SegmentValues& seen) {
                      seen.by_lost_entry = seen.by_segment;
                      seen.by_segment = 0;
                  }}},
     .concluded = nothing("untranslated for want of its flow's entry", {{"ahead", "lost-entry"}})},
    {.name = "segments_that_no_rule_counted_as_invalid_are_unexplained",
     .changes = {{"ahead", [](SegmentValues& seen) { seen.invalid = 3; }}},
     .concluded = nothing("5 unexplained", {}, 5)},
    {.name = "connections_that_only_hang_are_unexplained",
     .changes = {{"ahead", nothing_breaks}, {"ahead", times_out}},
     .concluded = nothing("8 of 8 connections broke: 8 unexplained", {{"ahead", ""}})},
    {.name = "segments_that_were_not_all_sent_conclude_nothing",
     .changes = {{"ahead", [](SegmentValues& seen) { seen.segments = 5; }}},
     .concluded = nothing("a segment was put on the wire in 5 of 8 connections")},
    {.name = "copies_that_were_not_sent_conclude_nothing",
     .changes = {{"late-copy", [](SegmentValues& seen) { seen.segments = 0; }}},
     .concluded = nothing("a segment was put on the wire in none of 8 connections")},
    {.name = "a_sysctl_that_is_not_as_set_concludes_nothing",
     .changes = {{"ahead", [](SegmentValues& seen) { seen.liberal = "1"; }}},
     .concluded = nothing("nf_conntrack_tcp_be_liberal is '1'")},
    {.name = "an_agent_that_died_concludes_nothing",
     .changes = {{"control.in-window",
                  [](SegmentValues& seen) { seen.objections = {"ended by signal 9"}; }}},
     .concluded = nothing("ended by signal 9")},
    {.name = "nothing_executed_concludes_nothing",
     .concluded = nothing("nothing was measured"),
     .without = "*"},
    {.name = "no_connection_concludes_nothing",
     .changes = {{"ahead", [](SegmentValues& seen) { seen = {}; }}},
     .concluded = nothing("no connection was made"),
     .only = "ahead"},
};

[[maybe_unused]] const bool kAdded = add_cases(segment_cells, as_usual, {kRows});

BOOST_AUTO_TEST_CASE(no_sentence_says_what_no_value_bears_out) {
    ten_thousand({{"reset by peer", {"reset"}},
                  {"came untranslated and that the client answered", {"by_segment"}},
                  {"for want of its flow's entry", {"by_lost_entry"}},
                  {"server's side sent a RST", {"by_server"}},
                  {"unexplained", {"unexplained"}},
                  {"came to the client from the endpoint's own address", {"untranslated"}},
                  {"conntrack calls them INVALID", {"invalid"}}},
                 [](Dice& dice) {
                     std::vector<MeasuredSegmentCell> cells;
                     for (const SegmentCell& what : segment_cells()) {
                         SegmentValues seen = as_usual(what);
                         if (dice.one_in(6)) {
                             seen.connects = dice.up_to(8);
                             seen.broken = dice.up_to(seen.connects);
                             seen.reset = dice.up_to(seen.broken);
                             seen.by_segment = dice.up_to(seen.broken);
                             seen.by_lost_entry = dice.up_to(seen.broken - seen.by_segment);
                             seen.by_server =
                                 dice.up_to(seen.broken - seen.by_segment - seen.by_lost_entry);
                             const std::uint64_t came = seen.by_segment + seen.by_lost_entry;
                             seen.untranslated = came + dice.up_to(8);
                             seen.answered = came + dice.up_to(8);
                             seen.invalid = dice.one_in(4) ? dice.up_to(8) : seen.untranslated;
                         }
                         if (dice.one_in(30)) {
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
