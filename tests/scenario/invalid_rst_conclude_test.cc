// Conclusions of invalid-rst from plain values.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "harness/scenario/service_path/invalid_rst.h"
#include "tests/scenario/path_conclusions.h"

BOOST_AUTO_TEST_SUITE(invalid_rst_conclude)

using namespace pathproof;
using namespace pathproof::scenario;
using namespace conclusions;
using Role = verdict::Cell::Role;

namespace {

using Change = std::function<void(SegmentValues&)>;
using Sends = SegmentCell::Sends;

void reset_by_segments(SegmentValues& seen, std::uint64_t connections = 8) {
    seen.invalid = seen.untranslated = seen.answered = connections;
    seen.broken = seen.reset = seen.by_segment = connections;
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

verdict::ScenarioResult with(const std::string& id, const Change& change) {
    std::vector<MeasuredSegmentCell> cells;
    for (const SegmentCell& what : segment_cells()) {
        cells.push_back({.what = what, .seen = as_usual(what)});
        if (what.id == id || id == "*") {
            change(cells.back().seen);
        }
    }
    return conclude(cells);
}

verdict::ScenarioResult without(const std::string& id) {
    std::vector<MeasuredSegmentCell> cells;
    for (const SegmentCell& what : segment_cells()) {
        if (what.id != id) {
            cells.push_back({.what = what, .seen = as_usual(what)});
        }
    }
    return conclude(cells);
}

void nothing_breaks(SegmentValues& seen) {
    seen = {.liberal = seen.liberal, .connects = 8, .segments = seen.segments};
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_this_kernel_shows_is_reproduced_named_and_cured) {
    const auto result = with("", [](SegmentValues&) {});
    BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced), result.headline);
    BOOST_TEST(contains(result.headline, "ahead: 8 of 8 connections broke (8 reset by peer)"),
               result.headline);
    BOOST_TEST(contains(result.headline, "late-copy: none of 8 connections broke"),
               result.headline);
    BOOST_TEST(contains(result.cause, "INVALID (8 counted)"), result.cause);
    BOOST_TEST(contains(result.cause, "8 came to the client from the endpoint's own address"),
               result.cause);
    BOOST_TEST(result.cure_shown);
    BOOST_TEST(
        contains(result.cure, "be_liberal=1` on the DUT (with it none of 8, without again 8 of 8"),
        result.cure);
    BOOST_TEST(cell(result, "ahead").cause == "invalid-rst");
    BOOST_TEST(result.before_cell == "ahead");
    BOOST_TEST(result.after_cell == "cure.be-liberal");
    BOOST_TEST(result.controls.size() == 3U);
}

BOOST_AUTO_TEST_CASE(each_cure_stands_beside_what_it_breaks) {
    const auto result = with("", [](SegmentValues&) {});
    BOOST_TEST(
        contains(result.cure, "answers pass by the DUT none of 8 broke with it, without none of 8"),
        result.cure);
    BOOST_TEST(
        contains(result.cure, "answers pass by the DUT 8 of 8 broke with it, without none of 8"),
        result.cure);
    BOOST_TEST((cell(result, "drop-invalid.one-way").role == Role::kDemonstration));
    BOOST_TEST((cell(result, "drop-invalid.one-way").verdict == verdict::CellVerdict::kPass));
    for (const char* id : {"drop-invalid.one-way", "control.one-way"}) {
        BOOST_TEST(contains(without(id).cure, "was not measured in this run"), id);
    }
    const auto broken = with("control.one-way", times_out);
    inconclusive(broken, "the control control.one-way: 8 of 8 connections broke");
}

BOOST_AUTO_TEST_CASE(a_kernel_that_does_not_let_late_copies_pass_is_told_so) {
    const auto result = with("late-copy", [](SegmentValues& seen) { reset_by_segments(seen); });
    BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced), result.headline);
    BOOST_TEST(contains(result.headline, "late-copy: 8 of 8 connections broke"), result.headline);
}

BOOST_AUTO_TEST_CASE(a_control_that_shows_it_proves_nothing) {
    for (const char* id : {"control.no-segment", "control.in-window"}) {
        inconclusive(with(id, [](SegmentValues& seen) { reset_by_segments(seen, 1); }), id);
        inconclusive(with(id, times_out), id);
    }
}

BOOST_AUTO_TEST_CASE(a_cure_that_fails_is_not_shown) {
    const auto one =
        with("cure.be-liberal", [](SegmentValues& seen) { reset_by_segments(seen, 2); });
    BOOST_TEST((one.verdict == ScenarioVerdict::kReproduced), one.headline);
    BOOST_TEST(one.cure_shown);  // by the other
    BOOST_TEST(one.after_cell == "cure.drop-invalid");
    BOOST_TEST(contains(one.cure, "not shown: 2 of 8 connections broke"), one.cure);
    const auto gone = with("ahead.after-cure", nothing_breaks);
    BOOST_TEST(!gone.cure_shown);
    BOOST_TEST(contains(gone.cure, "was not seen again"), gone.cure);
}

BOOST_AUTO_TEST_CASE(where_each_segment_is_translated_nothing_is_reproduced) {
    const auto result = with("*", nothing_breaks);
    BOOST_TEST((result.verdict == ScenarioVerdict::kNotReproduced), result.headline);
    BOOST_TEST(result.cause.empty());
    BOOST_TEST(result.cure.empty());
}

// Traps: the same symptom by another cause.
BOOST_AUTO_TEST_CASE(resets_of_the_server_are_not_given_this_cause) {
    const auto result = with("ahead", [](SegmentValues& seen) {
        nothing_breaks(seen);
        reset_by_server(seen);
    });
    inconclusive(result, "8 as the server's side sent a RST");
    BOOST_TEST(cell(result, "ahead").cause == "server-reset");
}

BOOST_AUTO_TEST_CASE(resets_that_the_dut_made_are_not_the_servers) {
    const auto result = with("ahead", [](SegmentValues& seen) {
        nothing_breaks(seen);
        seen.broken = seen.reset = seen.by_dut = 8;
        seen.not_followed.clear();
    });
    inconclusive(result, "8 as the DUT itself sent a RST");
    BOOST_TEST(cell(result, "ahead").cause == "dut-reset");
    BOOST_TEST(!contains(result.headline, "the server's side sent"), result.headline);
}

BOOST_AUTO_TEST_CASE(who_made_a_reset_is_not_said_where_it_was_not_followed) {
    const auto result = with("ahead", [](SegmentValues& seen) {
        nothing_breaks(seen);
        reset_by_server(seen);
        seen.not_followed = "no BTF";
    });
    inconclusive(result, "or a rule of the DUT: by capture, not by packet");
}

BOOST_AUTO_TEST_CASE(segments_of_a_flow_whose_entry_is_gone_are_not_given_this_cause) {
    const auto result = with("ahead", [](SegmentValues& seen) {
        seen.by_lost_entry = seen.by_segment;
        seen.by_segment = 0;
    });
    inconclusive(result, "untranslated for want of its flow's entry");
    BOOST_TEST(cell(result, "ahead").cause == "lost-entry");
}

BOOST_AUTO_TEST_CASE(segments_that_no_rule_counted_as_invalid_are_unexplained) {
    const auto result = with("ahead", [](SegmentValues& seen) { seen.invalid = 3; });
    inconclusive(result, "5 unexplained");
    BOOST_TEST(result.unexplained == 5U);
}

BOOST_AUTO_TEST_CASE(connections_that_only_hang_are_unexplained) {
    const auto result = with("ahead", [](SegmentValues& seen) {
        nothing_breaks(seen);
        times_out(seen);
    });
    inconclusive(result, "8 of 8 connections broke: 8 unexplained");
    BOOST_TEST(cell(result, "ahead").cause == "");
}

BOOST_AUTO_TEST_CASE(a_stimulus_that_did_not_take_place_concludes_nothing) {
    inconclusive(with("ahead", [](SegmentValues& seen) { seen.segments = 5; }),
                 "a segment was put on the wire in 5 of 8 connections");
    inconclusive(with("late-copy", [](SegmentValues& seen) { seen.segments = 0; }),
                 "a segment was put on the wire in none of 8 connections");
    inconclusive(with("ahead", [](SegmentValues& seen) { seen.liberal = "1"; }),
                 "nf_conntrack_tcp_be_liberal is '1'");
}

BOOST_AUTO_TEST_CASE(an_agent_that_died_and_nothing_executed_conclude_nothing) {
    inconclusive(with("control.in-window",
                      [](SegmentValues& seen) { seen.objections = {"ended by signal 9"}; }),
                 "ended by signal 9");
    inconclusive(conclude(std::vector<MeasuredSegmentCell>{}), "nothing was measured");
    inconclusive(conclude({{.what = segment_cells()[0]}}), "no connection was made");
}

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
