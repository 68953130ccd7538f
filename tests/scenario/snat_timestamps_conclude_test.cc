// Conclusions of snat-timestamps from plain values.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <functional>

#include "harness/scenario/service_path/snat_timestamps.h"
#include "tests/scenario/conclusion_table.h"

BOOST_AUTO_TEST_SUITE(snat_timestamps_conclude)

using namespace pathproof;
using namespace pathproof::scenario;
using namespace conclusions;
using Role = verdict::Cell::Role;

namespace {

void add(SynFindings& found, SynFate fate, std::uint64_t slow, std::uint64_t syns) {
    found.harmed[static_cast<std::size_t>(fate)] += slow;
    found.syns[static_cast<std::size_t>(fate)] += syns;
    found.slow += slow;
    found.slowest_ms = slow != 0 ? 1030 : found.slowest_ms;
}

// SYNs refused by their timestamp, and the counters that go with them.
void refuse(TimestampValues& seen, std::uint64_t slow, std::uint64_t syns,
            SynFate fate = SynFate::kTimestamp) {
    add(seen.found, fate, slow, syns);
    seen.found.refused.resize(seen.found.refused.size() + syns,
                              {.fate = fate, .port = 30'000, .named = true});
    seen.found.refused_named += syns;
    seen.paws += fate == SynFate::kTimestamp ? syns : 0;
    seen.client_resets += syns;
    seen.syn_retransmits += syns;
}

// The machine this was written on.
TimestampValues as_usual(const TimestampCell& what) {
    TimestampValues seen{.per_second = what.per_second};
    seen.found.connects = seen.found.entries = what.connects;
    seen.found.changed_ports =
        what.translates() && what.id != "control.full-range.masquerade" ? what.connects : 0;
    seen.found.met = what.without_time_wait() ? 0 : 200;
    if (what.full_range && what.path.snat == lab::Snat::kMasqueradeRandomFully) {
        seen.found.expected_met = 190;
        seen.found.expected_variance = 180;
        seen.found.drawn_met = 200;
    }
    if (what.role == Role::kMatrix) {
        refuse(seen, 20, 110, what.path.timestamps == 0 ? SynFate::kSequence : SynFate::kTimestamp);
    }
    return seen;
}

const std::vector<Phrase> kPhrases = {
    {"later timestamp", {"by_timestamp"}},
    {"later sequence number", {"by_sequence"}},
    {"did not reach the server", {"by_loss"}},
    {"did not answer in time", {"by_silence"}},
    {"unexplained", {"unexplained"}},
    {"insert_failed", {"insert_failed"}},
    {"drop ", {"drop"}},
    {"ListenOverflows", {"listen_overflows"}},
    {"PAWSTimewait rose", {"paws_timewait"}},
    {"OutRsts rose", {"client_resets"}},
    {"TCPSynRetrans rose", {"syn_retransmits"}},
    {"TSval below", {"refused_by_timestamp"}},
    {"by their timestamp", {"refused_by_timestamp"}},
    {"by their sequence number", {"refused_by_sequence"}},
    {"SYNs refused", {"refused_by_timestamp", "refused_by_sequence"}},
    {"connections that were closed", {"late_resets"}},
    {"were given a port", {"drawn_met"}},
    {"took more than 0.5 s (", {"slow"}},
    {"met a TIME_WAIT of their 4-tuple", {"met_time_wait", "refused_by_timestamp"}},
};

// Adds slow connects and refused SYNs.
auto refused(std::uint64_t slow, std::uint64_t syns) {
    return [=](TimestampValues& seen) { refuse(seen, slow, syns); };
}

auto harmed(SynFate fate, std::uint64_t slow, std::uint64_t syns) {
    return [=](TimestampValues& seen) { add(seen.found, fate, slow, syns); };
}

void refuse_nothing(TimestampValues& seen) {
    seen.found.harmed = {};
    seen.found.syns = {};
    seen.found.slow = seen.found.refused_named = seen.paws = 0;
    seen.found.refused.clear();
}

void meet_nothing(TimestampValues& seen) {
    seen.found.met = 0;
}

// No SYN comes to the server.
void filter_all(const TimestampCell& what, TimestampValues& seen) {
    seen.found = {.connects = what.connects, .failed = what.connects};
    seen.found.harmed[static_cast<std::size_t>(SynFate::kLost)] = what.connects;
    seen.drop = 3;
}

// Ends some of the server's nine SYN-ACKs on the DUT.
auto answers_dropped(std::uint64_t packets) {
    return [packets](TimestampValues& seen) {
        add(seen.found, SynFate::kUnanswered, 7, 9);
        seen.answers = {.dropped = {{.cause = "tc-egress",
                                     .text = "dropped by tc at egress, device d0",
                                     .packets = packets}},
                        .not_followed = ""};
    };
}

using Rows = std::vector<Row<TimestampCell, TimestampValues>>;

constexpr const char* kFew = "small-range.random-fully";
constexpr const char* kFewKept = "small-range.masquerade";
constexpr const char* kAll = "full-range.random-fully";

// Rows of controls that show it, slow or not, and of cures with which something is amiss.
Rows controls_and_cures() {
    Rows rows;
    for (const std::string id :
         {"control.no-nat", "control.client-closes-first", "control.full-range.masquerade"}) {
        rows.push_back({.name = id + "_that_is_slow_proves_nothing",
                        .changes = {{id, refused(1, 3)}},
                        .concluded = nothing(id)});
        rows.push_back({.name = id + "_whose_syns_are_refused_proves_nothing",
                        .changes = {{id, refused(0, 3)}},
                        .concluded = nothing(id)});
    }
    for (const std::string id : {"cure.timestamps-2", "cure.full-range.timestamps-2"}) {
        const Conclusion not_shown = not_cured("not shown: " + id);
        rows.push_back({.name = id + "_with_slow_connects_is_not_shown",
                        .changes = {{id, refused(2, 9)}},
                        .concluded = not_shown});
        rows.push_back({.name = id + "_with_refused_syns_is_not_shown",
                        .changes = {{id, refused(0, 9)}},
                        .concluded = not_shown});
        rows.push_back({.name = id + "_with_a_lost_syn_is_not_shown",
                        .changes = {{id, harmed(SynFate::kLost, 1, 1)}},
                        .concluded = not_shown});
        rows.push_back({.name = id + "_that_meets_nothing_is_not_shown",
                        .changes = {{id, meet_nothing}},
                        .concluded = not_shown});
    }
    return rows;
}

// Rows of lost SYNs beside refused ones, and alone.
Rows random_losses() {
    Rows rows;
    for (const std::string id : {kFew, kAll, "control.no-nat"}) {
        rows.push_back({.name = "random_loss_in_" + id + "_is_not_given_this_cause",
                        .changes = {{id, harmed(SynFate::kLost, 7, 9)}},
                        .concluded = {.verdict = ScenarioVerdict::kInconclusive,
                                      .says = {{"headline",
                                                "7 as their SYN left the client and did not reach "
                                                "the server"}},
                                      .cured = false,
                                      .more = [id](const ScenarioResult& result) {
                                          BOOST_TEST(contains(cell(result, id).cause, "syn-lost"));
                                      }}});
    }
    return rows;
}

}  // namespace

const Rows kShown = {
    {.name = "what_this_kernel_shows_is_reproduced_named_and_cured",
     .concluded =
         {.verdict = ScenarioVerdict::kReproduced,
          .says = {{"headline", "MASQUERADE --random-fully into 256 ports"},
                   {"headline", "MASQUERADE into 256 ports"},
                   {"headline", "kept the client's port in 8000 of 8000 entries: none of 8000"},
                   {"cause", "PAWSTimewait rose by 440"},
                   {"cure", "tcp_timestamps=2"}},
          .causes = {{kFew, "stale-timestamp"}, {"full-range.timestamps-0", "stale-sequence"}},
          .cured = true,
          .before = kFew,
          .after = "cure.timestamps-2",
          .controls = 3,
          .more =
              [](const ScenarioResult& result) {
                  BOOST_REQUIRE(result.explanation.size() == 2U);
                  BOOST_TEST(contains(result.explanation[1], "tcp_timestamps=0 is no cure"),
                             result.explanation[1]);
              }}},
    {.name = "where_no_syn_is_refused_nothing_is_reproduced",
     .changes = {{"*", refuse_nothing}},
     .concluded = {.verdict = ScenarioVerdict::kNotReproduced}},
    // Refused, and sent again at once.
    {.name = "refused_syns_that_harm_nobody_are_exposed",
     .changes = {{"*", refuse_nothing}, {kMatrixCells, refused(0, 50)}},
     .concluded = {.verdict = ScenarioVerdict::kExposed,
                   .says = {{"headline", "no connect slow"}}}},
    {.name = "a_control_that_met_no_time_wait_proves_nothing",
     .changes = {{"control.no-nat", meet_nothing}},
     .concluded = nothing("no SYN met a TIME_WAIT")},
    {.name = "a_control_that_was_translated_proves_nothing",
     .changes = {{"control.no-nat", [](TimestampValues& seen) { seen.found.changed_ports = 5; }}},
     .concluded = nothing("which this cell must not have")},
    {.name = "a_failure_that_does_not_come_back_shows_no_cure",
     .changes = {{"small-range.after-cure",
                  [](TimestampValues& seen) {
                      seen = {.found = {.connects = 450, .met = 9, .changed_ports = 450}};
                  }}},
     .concluded = {.says = {{"cure", "was not seen again"}}, .cured = false}},
    {.name = "an_agent_that_died_concludes_nothing",
     .changes = {{kAll,
                  [](TimestampValues& seen) {
                      seen = {.objections = {"agent in namespace x ended by signal 9"}};
                  }}},
     .concluded = nothing("ended by signal 9")},
    {.name = "a_snat_that_did_not_take_place_concludes_nothing",
     .changes = {{kFew,
                  [](TimestampValues& seen) { seen = {.found = {.connects = 450, .met = 9}}; }}},
     .concluded = nothing("the SNAT did not take place")},
    {.name = "nothing_executed_concludes_nothing",
     .concluded = nothing("nothing was measured"),
     .without = "*"},
    {.name = "no_connection_concludes_nothing",
     .changes = {{kFew, [](TimestampValues& seen) { seen = {}; }}},
     .concluded = nothing("no connection was made"),
     .only = kFew},
};

// Traps: the same symptom by another cause.
const Rows kTraps = {
    {.name = "a_slow_server_is_not_given_this_cause",
     .changes = {{kFewKept, harmed(SynFate::kUnanswered, 7, 9)},
                 {kFewKept,
                  [](TimestampValues& seen) {
                      seen.listen_overflows = 9;
                      seen.answers.not_followed.clear();
                  }}},
     .concluded = nothing("did not answer in time (ListenOverflows rose by 9)",
                          {{kFewKept, "stale-timestamp+syn-unanswered"}})},
    // The server answered, and the DUT dropped what it said.
    {.name = "answers_that_the_dut_drops_are_no_silence_of_the_server",
     .changes = {{kFewKept, answers_dropped(9)}},
     .concluded = {.verdict = ScenarioVerdict::kInconclusive,
                   .says = {{"headline", "answers of it ended on the DUT"}},
                   .never_says = {{"headline", "did not answer"}},
                   .causes = {{kFewKept, "stale-timestamp+syn-ack-lost"}},
                   .cured = false}},
    {.name = "answers_of_which_the_dut_drops_some_have_both_causes",
     .changes = {{kFewKept, answers_dropped(2)}},
     .concluded = {.verdict = ScenarioVerdict::kInconclusive,
                   .says = {{"headline", "answers of it ended on the DUT"}},
                   .never_says = {{"headline", "did not answer"}},
                   .causes = {{kFewKept, "stale-timestamp+syn-ack-lost+syn-unanswered"}},
                   .cured = false}},
    {.name = "a_filter_is_not_given_this_cause",
     .changes = {{"*", filter_all}},
     .concluded = {.verdict = ScenarioVerdict::kInconclusive,
                   .says = {{"headline", "did not reach the server (conntrack: drop 3)"}},
                   .cured = false,
                   .more =
                       [](const ScenarioResult& result) {
                           for (const verdict::Cell& each : result.cells) {
                               BOOST_TEST(each.cause == "syn-lost", each.id);
                           }
                       }}},
    {.name = "a_counter_that_does_not_fit_is_not_said",
     .changes = {{kAll, [](TimestampValues& seen) { seen.paws = 5; }}},
     .concluded = nothing("PAWSTimewait rose by 5")},
    {.name = "ports_that_conntrack_does_not_name_do_not_fit",
     .changes = {{kAll, [](TimestampValues& seen) { --seen.found.refused_named; }}},
     .concluded = nothing("does not fit together")},
    {.name = "slow_connects_without_a_cause_are_unexplained",
     .changes = {{kFew,
                  [](TimestampValues& seen) {
                      ++seen.found.unexplained;
                      ++seen.found.slow;
                  }}},
     .concluded = nothing("1 unexplained", {}, 1)},
};

[[maybe_unused]] const bool kAdded = add_cases(
    timestamp_cells, as_usual, {kShown, controls_and_cures(), random_losses(), kTraps}, kPhrases);

BOOST_AUTO_TEST_CASE(the_cure_of_snat_race_has_its_side_effect_beside_it) {
    const verdict::ScenarioResult race{.id = "snat-race", .cure = "`-j MASQUERADE --random-fully`"};
    const verdict::ScenarioResult other{.id = "dns-race", .cure = "single-request"};
    std::vector<verdict::ScenarioResult> alone = {race, other};
    tell_side_effects(alone);
    BOOST_TEST(contains(alone[0].cure, "not measured in this run"), alone[0].cure);
    BOOST_TEST(contains(alone[0].cure, "tcp_timestamps=2"), alone[0].cure);
    BOOST_TEST(alone[1].cure == "single-request");

    const auto own_of = [](const Rows::value_type& row) {
        verdict::ScenarioResult result =
            result_of(Table<TimestampCell, TimestampValues>{timestamp_cells, as_usual}, row);
        result.id = "snat-timestamps";
        return result;
    };
    std::vector<verdict::ScenarioResult> both = {race, own_of({.name = "as usual"})};
    const std::string own = both[1].cure;
    tell_side_effects(both);
    BOOST_TEST(contains(both[0].cure, "seen in this run (snat-timestamps): 20 of 8000"),
               both[0].cure);
    BOOST_TEST(contains(both[0].cure, "avoids it (seen in this run: none of 8000)"), both[0].cure);
    BOOST_TEST(both[1].cure == own);

    both = {race, own_of({.name = "died", .changes = {{kAll, [](TimestampValues& seen) {
                                                           seen = {.objections = {"died"}};
                                                       }}}})};
    tell_side_effects(both);
    BOOST_TEST(contains(both[0].cure, "not measured in this run"), both[0].cure);
}

BOOST_AUTO_TEST_CASE(no_sentence_says_what_no_value_bears_out) {
    ten_thousand(kPhrases, [](Dice& dice) {
        std::vector<MeasuredTimestampCell> cells;
        const bool quiet = dice.one_in(4);
        for (const TimestampCell& what : timestamp_cells()) {
            TimestampValues seen = as_usual(what);
            if (what.role == Role::kMatrix && (quiet || dice.one_in(4))) {
                seen = {.found = {.connects = what.connects,
                                  .met = 200,
                                  .entries = what.connects,
                                  .changed_ports = what.connects},
                        .per_second = what.per_second};
                const std::uint64_t slow = dice.one_in(2) ? 0 : dice.up_to(40);
                refuse(seen, slow, slow != 0 || dice.one_in(2) ? 40 : 0,
                       dice.one_in(2) ? SynFate::kTimestamp : SynFate::kSequence);
            }
            if (dice.one_in(20)) {
                add(seen.found, dice.one_in(2) ? SynFate::kLost : SynFate::kUnanswered,
                    dice.up_to(9), 9);
                seen.drop = dice.up_to(2);
                seen.insert_failed = dice.up_to(2);
                seen.listen_overflows = dice.up_to(2);
            }
            if (dice.one_in(25)) {
                seen.found.unexplained = dice.up_to(2);
                seen.found.slow += seen.found.unexplained;
            }
            if (dice.one_in(10)) {
                for (std::uint64_t* each :
                     {&seen.paws, &seen.client_resets, &seen.syn_retransmits, &seen.found.met,
                      &seen.found.late_resets, &seen.found.drawn_met, &seen.found.changed_ports}) {
                    *each = dice.up_to(what.connects);
                }
            }
            if (dice.one_in(40)) {
                seen.objections = {"ended by signal 9"};
            }
            if (!dice.one_in(9)) {
                cells.push_back({.what = what, .seen = seen});
            }
        }
        std::vector<verdict::ScenarioResult> both = {conclude(cells), {}};
        both[0].id = "snat-timestamps";
        both[1].cure = "`-j MASQUERADE --random-fully`";
        tell_side_effects(both);
        both[0].explanation.push_back(both[1].cure);
        return both[0];
    });
}

BOOST_AUTO_TEST_SUITE_END()
