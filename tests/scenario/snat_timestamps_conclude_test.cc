// Conclusions of snat-timestamps from plain values.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <functional>

#include "harness/scenario/service_path/snat_timestamps.h"
#include "tests/scenario/path_conclusions.h"

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

using Change = std::function<void(const TimestampCell&, TimestampValues&)>;

verdict::ScenarioResult concluded(const Change& change = [](const auto&, auto&) {}) {
    std::vector<MeasuredTimestampCell> cells;
    for (const TimestampCell& what : timestamp_cells()) {
        cells.push_back({.what = what, .seen = as_usual(what)});
        change(what, cells.back().seen);
    }
    verdict::ScenarioResult result = conclude(cells);
    result.id = "snat-timestamps";
    for (const std::string& claim : false_sentences(result, kPhrases)) {
        BOOST_TEST(false, claim);
    }
    return result;
}

// As concluded(), with one cell changed.
verdict::ScenarioResult with(const std::string& id,
                             const std::function<void(TimestampValues&)>& change) {
    return concluded([&](const TimestampCell& what, TimestampValues& seen) {
        if (what.id == id) {
            change(seen);
        }
    });
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_this_kernel_shows_is_reproduced_named_and_cured) {
    const auto result = concluded();
    BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced));
    BOOST_TEST(result.cure_shown);
    BOOST_TEST(contains(result.headline, "MASQUERADE --random-fully into 256 ports"),
               result.headline);
    BOOST_TEST(contains(result.headline, "MASQUERADE into 256 ports"), result.headline);
    BOOST_TEST(
        contains(result.headline, "kept the client's port in 8000 of 8000 entries: none of 8000"),
        result.headline);
    BOOST_TEST(contains(result.cause, "PAWSTimewait rose by 440"), result.cause);
    BOOST_TEST(contains(result.cure, "tcp_timestamps=2"), result.cure);
    BOOST_TEST((cell(result, "small-range.random-fully").cause == "stale-timestamp"));
    BOOST_TEST((cell(result, "full-range.timestamps-0").cause == "stale-sequence"));
    BOOST_TEST(result.before_cell == "small-range.random-fully");
    BOOST_TEST(result.after_cell == "cure.timestamps-2");
    BOOST_TEST(result.controls.size() == 3U);
    BOOST_TEST(result.explanation.size() == 2U);
    BOOST_TEST(contains(result.explanation[1], "tcp_timestamps=0 is no cure"),
               result.explanation[1]);
}

BOOST_AUTO_TEST_CASE(a_control_that_shows_it_proves_nothing) {
    for (const char* id :
         {"control.no-nat", "control.client-closes-first", "control.full-range.masquerade"}) {
        inconclusive(with(id, [](TimestampValues& seen) { refuse(seen, 1, 3); }), id);
        inconclusive(with(id, [](TimestampValues& seen) { refuse(seen, 0, 3); }), id);
    }
    inconclusive(with("control.no-nat", [](TimestampValues& seen) { seen.found.met = 0; }),
                 "no SYN met a TIME_WAIT");
    inconclusive(
        with("control.no-nat", [](TimestampValues& seen) { seen.found.changed_ports = 5; }),
        "which this cell must not have");
}

BOOST_AUTO_TEST_CASE(a_cure_that_fails_or_meets_nothing_is_not_shown) {
    for (const char* id : {"cure.timestamps-2", "cure.full-range.timestamps-2"}) {
        for (const auto& change : std::vector<std::function<void(TimestampValues&)>>{
                 [](TimestampValues& seen) { refuse(seen, 2, 9); },
                 [](TimestampValues& seen) { refuse(seen, 0, 9); },
                 [](TimestampValues& seen) { add(seen.found, SynFate::kLost, 1, 1); },
                 [](TimestampValues& seen) { seen.found.met = 0; }}) {
            const auto result = with(id, change);
            BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced));
            BOOST_TEST(!result.cure_shown);
            BOOST_TEST(contains(result.cure, "not shown: " + std::string(id)), result.cure);
        }
    }
    const auto gone = with("small-range.after-cure", [](TimestampValues& seen) {
        seen = {.found = {.connects = 450, .met = 9, .changed_ports = 450}};
    });
    BOOST_TEST(!gone.cure_shown);
    BOOST_TEST(contains(gone.cure, "was not seen again"), gone.cure);
}

BOOST_AUTO_TEST_CASE(where_no_syn_is_refused_nothing_is_reproduced) {
    const auto clean = [](const TimestampCell&, TimestampValues& seen) {
        seen.found.harmed = {};
        seen.found.syns = {};
        seen.found.slow = seen.found.refused_named = seen.paws = 0;
        seen.found.refused.clear();
    };
    const auto result = concluded(clean);
    BOOST_TEST((result.verdict == ScenarioVerdict::kNotReproduced), result.headline);
    BOOST_TEST(result.cause.empty());
    BOOST_TEST(result.cure.empty());
    // Refused, and sent again at once.
    const auto exposed = concluded([&](const TimestampCell& what, TimestampValues& seen) {
        clean(what, seen);
        if (what.role == Role::kMatrix) {
            refuse(seen, 0, 50);
        }
    });
    BOOST_TEST((exposed.verdict == ScenarioVerdict::kExposed), exposed.headline);
    BOOST_TEST(contains(exposed.headline, "no connect slow"), exposed.headline);
}

// Traps: the same symptom by another cause.
BOOST_AUTO_TEST_CASE(random_loss_of_syns_is_not_given_this_cause) {
    for (const char* id :
         {"small-range.random-fully", "full-range.random-fully", "control.no-nat"}) {
        const auto result =
            with(id, [](TimestampValues& seen) { add(seen.found, SynFate::kLost, 7, 9); });
        inconclusive(result, "7 as their SYN left the client and did not reach the server");
        BOOST_TEST(contains(cell(result, id).cause, "syn-lost"));
    }
}

BOOST_AUTO_TEST_CASE(a_slow_server_is_not_given_this_cause) {
    const auto result = with("small-range.masquerade", [](TimestampValues& seen) {
        add(seen.found, SynFate::kUnanswered, 7, 9);
        seen.listen_overflows = 9;
        seen.answers.not_followed.clear();
    });
    inconclusive(result, "did not answer in time (ListenOverflows rose by 9)");
    BOOST_TEST(cell(result, "small-range.masquerade").cause == "stale-timestamp+syn-unanswered");
}

// The server answered, and the DUT dropped what it said.
BOOST_AUTO_TEST_CASE(answers_that_the_dut_drops_are_no_silence_of_the_server) {
    for (const bool all : {true, false}) {
        const auto result = with("small-range.masquerade", [&](TimestampValues& seen) {
            add(seen.found, SynFate::kUnanswered, 7, 9);
            seen.answers = {.dropped = {{.cause = "tc-egress",
                                         .text = "dropped by tc at egress, device d0",
                                         .packets = all ? 9U : 2U}},
                            .not_followed = ""};
        });
        inconclusive(result, "answers of it ended on the DUT");
        const std::string cause = cell(result, "small-range.masquerade").cause;
        BOOST_TEST(contains(cause, "syn-ack-lost"), cause);
        BOOST_TEST(contains(cause, "syn-unanswered") == !all, cause);
        BOOST_TEST(!contains(result.headline, "did not answer"), result.headline);
    }
}

BOOST_AUTO_TEST_CASE(a_filter_is_not_given_this_cause) {
    const auto result = concluded([](const TimestampCell& what, TimestampValues& seen) {
        seen.found = {.connects = what.connects, .failed = what.connects};
        seen.found.harmed[static_cast<std::size_t>(SynFate::kLost)] = what.connects;
        seen.drop = 3;
    });
    inconclusive(result, "did not reach the server (conntrack: drop 3)");
    for (const verdict::Cell& each : result.cells) {
        BOOST_TEST(each.cause == "syn-lost", each.id);
    }
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_together_is_not_said) {
    inconclusive(with("full-range.random-fully", [](TimestampValues& seen) { seen.paws = 5; }),
                 "PAWSTimewait rose by 5");
    inconclusive(
        with("full-range.random-fully", [](TimestampValues& seen) { --seen.found.refused_named; }),
        "does not fit together");
    const auto unexplained = with("small-range.random-fully", [](TimestampValues& seen) {
        ++seen.found.unexplained;
        ++seen.found.slow;
    });
    inconclusive(unexplained, "1 unexplained");
    BOOST_TEST(unexplained.unexplained == 1U);
}

BOOST_AUTO_TEST_CASE(an_agent_that_died_and_a_stimulus_that_did_not_take_place_conclude_nothing) {
    inconclusive(with("full-range.random-fully",
                      [](TimestampValues& seen) {
                          seen = {.objections = {"agent in namespace x ended by signal 9"}};
                      }),
                 "ended by signal 9");
    inconclusive(with("small-range.random-fully",
                      [](TimestampValues& seen) { seen = {.found = {.connects = 450, .met = 9}}; }),
                 "the SNAT did not take place");
    inconclusive(conclude(std::vector<MeasuredTimestampCell>{}), "nothing was measured");
    inconclusive(conclude({{.what = timestamp_cells()[0]}}), "no connection was made");
}

BOOST_AUTO_TEST_CASE(the_cure_of_snat_race_has_its_side_effect_beside_it) {
    const verdict::ScenarioResult race{.id = "snat-race", .cure = "`-j MASQUERADE --random-fully`"};
    const verdict::ScenarioResult other{.id = "dns-race", .cure = "single-request"};
    std::vector<verdict::ScenarioResult> alone = {race, other};
    tell_side_effects(alone);
    BOOST_TEST(contains(alone[0].cure, "not measured in this run"), alone[0].cure);
    BOOST_TEST(contains(alone[0].cure, "tcp_timestamps=2"), alone[0].cure);
    BOOST_TEST(alone[1].cure == "single-request");

    std::vector<verdict::ScenarioResult> both = {race, concluded()};
    const std::string own = both[1].cure;
    tell_side_effects(both);
    BOOST_TEST(contains(both[0].cure, "seen in this run (snat-timestamps): 20 of 8000"),
               both[0].cure);
    BOOST_TEST(contains(both[0].cure, "avoids it (seen in this run: none of 8000)"), both[0].cure);
    BOOST_TEST(both[1].cure == own);

    both = {race, with("full-range.random-fully",
                       [](TimestampValues& seen) { seen = {.objections = {"died"}}; })};
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
