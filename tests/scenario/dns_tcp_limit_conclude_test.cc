// Conclusions of dns-tcp-limit from plain values.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "harness/scenario/resolvers/dns_tcp_limit.h"
#include "tests/scenario/conclusion_table.h"

BOOST_AUTO_TEST_SUITE(dns_tcp_limit_conclude)

using namespace pathproof;
using namespace pathproof::scenario;
using namespace conclusions;
using LimitRole = verdict::Cell::Role;
using LimitTry = agent::ForwarderTry::Outcome;

namespace {

// The machine this was written on.
TcpLimitValues limit_as_usual(const TcpLimitCell& what) {
    TcpLimitValues seen{.lookups = what.names, .answered = what.names, .slowest_ms = 210};
    seen.udp_answered = true;
    seen.udp_ms = 201;
    const bool fails = what.role == LimitRole::kMatrix;
    if (what.load == TcpLimitLoad::kForward) {
        if (fails) {
            seen.answered = 150;
            seen.refused = what.names - 150;
            seen.forward_max = 150;
            seen.forward_line = "Maximum number of concurrent DNS queries reached (max: 150)";
        }
        return seen;
    }
    seen.workers = fails ? 20 : 15;
    seen.in_use = seen.workers;
    seen.most_workers = 20;
    if (what.load == TcpLimitLoad::kIdle) {
        seen.lookups = 1;
        seen.answered = fails ? 0 : 1;
        seen.unanswered = seen.harm.by_queue = fails ? 1 : 0;
        seen.freed = seen.freed_answered = fails && !what.again;
        seen.freed_ms = 405;
    } else if (fails) {
        seen.answered = 20;
        seen.late = 20;
        seen.servfail = 40;
        seen.harm.by_queue = 60;
        seen.most_waiting = 33;
        seen.overflows = 120;
        seen.most_open = 80;
    }
    return seen;
}

// Makes every lookup of a burst fail for one reason.
auto harmed_by(std::uint64_t TcpLimitHarm::*what) {
    return [what](TcpLimitValues& seen) {
        seen.answered = 0;
        seen.servfail = seen.lookups;
        seen.late = 0;
        seen.harm = {};
        seen.harm.*what = seen.lookups;
    };
}

// One lookup from port 1, whose try from port 5 ended in 2 s without an answer.
struct OneLookup {
    agent::DnsLoadReport load;
    agent::ForwarderReport forwarder;
    agent::TcpQueue queue;
    std::uint64_t overflows = 0;

    OneLookup() {
        load.lookups = {{.port = 1, .start_ns = 0, .asked = 1, .answered = 1, .rcode = 2}};
        forwarder.tries = {{.client_port = 1,
                            .port = 5,
                            .start_ns = 100,
                            .end_ns = 2'000'000'100,
                            .connected = true,
                            .outcome = LimitTry::kTimedOut}};
        queue.connections = {{.peer = {frame::IpAddress::v4(1), 5},
                              .first_waiting_ns = 200,
                              .last_waiting_ns = 2'000'000'000}};
    }
    TcpLimitHarm harm() const {
        return tell_harm(load, forwarder, queue, frame::IpAddress::v4(1), overflows);
    }
};

void answer_all(TcpLimitValues& seen) {
    seen.answered = seen.lookups;
    seen.late = seen.servfail = seen.refused = seen.unanswered = 0;
    seen.harm = {};
}

void all_well(const TcpLimitCell& what, TcpLimitValues& seen) {
    TcpLimitCell harmless = what;
    harmless.role = LimitRole::kControl;
    seen = limit_as_usual(harmless);
}

using Rows = std::vector<Row<TcpLimitCell, TcpLimitValues>>;

// Rows of each control that shows it, each failure that does not come back, each other cause of a burst.
Rows of_each_cell() {
    Rows rows;
    for (const TcpLimitCell& what : dns_tcp_limit_plan()) {
        if (what.role == LimitRole::kControl) {
            rows.push_back({.name = what.id + "_that_shows_it_proves_nothing",
                            .changes = {{what.id,
                                         [](TcpLimitValues& seen) {
                                             --seen.answered;
                                             ++seen.unanswered;
                                             seen.harm.by_queue = 1;
                                             seen.in_use = seen.workers = 20;
                                         }}},
                            .concluded = nothing(what.id)});
        }
    }
    for (const std::string id :
         {"idle-20.after-cure", "burst-80.after-cure", "forward-200.after-cure"}) {
        rows.push_back({.name = id + "_that_does_not_come_back_shows_no_cure",
                        .changes = {{id, answer_all}},
                        .concluded = {.says = {{"cure", "was not seen again"}}, .cured = false}});
    }
    const std::pair<std::string, std::uint64_t TcpLimitHarm::*> others[] = {
        {"server-slow", &TcpLimitHarm::by_server},
        {"answer-lost", &TcpLimitHarm::by_loss},
        {"rubbish-answer", &TcpLimitHarm::by_rubbish},
        {"server-error", &TcpLimitHarm::by_answer},
        {"syn-lost", &TcpLimitHarm::not_connected},
        {"connection-refused", &TcpLimitHarm::by_refusal},
    };
    for (const auto& [cause, harm] : others) {
        rows.push_back({.name = cause + "_is_not_given_this_cause",
                        .changes = {{"burst-80", harmed_by(harm)}},
                        .concluded = nothing("burst-80", {{"burst-80", cause}})});
    }
    return rows;
}

}  // namespace

const Rows kRows = {
    {.name = "what_this_machine_shows_is_reproduced_named_and_cured",
     .concluded = {.verdict = ScenarioVerdict::kReproduced,
                   .says = {{"headline", "burst-80: 60 of 80 lookups"},
                            {"headline", "forward-200: 50 of 200 lookups"},
                            {"cause", "in use 20, ... max allowed 20"},
                            {"cause", "stand-in for CoreDNS"},
                            {"cause", "answered 405.0 ms after the connections had ended"},
                            {"cause", "reached (max: 150)"},
                            {"cure", "--max-tcp-connections=200` (new in 2.90)"}},
                   .causes = {{"burst-80", "worker-limit"},
                              {"idle-20", "worker-limit"},
                              {"forward-200", "forward-max"}},
                   .cured = true,
                   .before = "idle-20",
                   .after = "cure.idle-20.max-idle",
                   // The stand-in is named where it was.
                   .more =
                       [](const ScenarioResult& result) {
                           for (const auto* cells : {&result.cells, &result.controls}) {
                               for (const Cell& each : *cells) {
                                   const std::string& cache = each.toggles[1].second;
                                   BOOST_TEST(
                                       (cache == "none" || contains(cache, "stand-in for CoreDNS")),
                                       each.id);
                               }
                           }
                       }}},
    {.name = "a_cure_that_fails_is_not_shown",
     .changes = {{"cure.burst-80.more-workers",
                  [](TcpLimitValues& seen) {
                      seen.answered = 79;
                      seen.late = seen.harm.by_server = 1;
                  }}},
     .concluded = not_cured("not shown: 1 of 80")},
    {.name = "an_option_that_this_dnsmasq_lacks_is_skipped_and_the_other_cure_shown",
     .changes = {{"cure.burst-80.more-workers",
                  [](TcpLimitValues& seen) {
                      seen = {};
                      seen.skipped =
                          "this dnsmasq does not know --max-tcp-connections, which is new in 2.90";
                  }}},
     .concluded = {.says = {{"cure", "new in 2.90"}},
                   .cells = {{"cure.burst-80.more-workers", CellVerdict::kSkip}},
                   .cured = true}},
    {.name = "where_all_is_answered_nothing_is_reproduced",
     .changes = {{"*", all_well}},
     .concluded = {.verdict = ScenarioVerdict::kNotReproduced}},
    // Traps: the same symptom by another cause.
    {.name = "a_server_that_accepts_nothing_is_not_given_this_cause",
     .changes = {{"burst-80", harmed_by(&TcpLimitHarm::by_queue)},
                 {"burst-80",
                  [](TcpLimitValues& seen) {
                      seen.in_use.reset();
                      seen.workers = 3;
                  }}},
     .concluded = nothing("burst-80", {{"burst-80", "not-accepting"}})},
    {.name = "a_server_that_does_not_serve_is_not_given_this_cause",
     .changes = {{"burst-80", harmed_by(&TcpLimitHarm::by_queue)},
                 {"burst-80", [](TcpLimitValues& seen) { seen.udp_answered = false; }}},
     .concluded = nothing("burst-80", {{"burst-80", "not-serving"}})},
    {.name = "lookups_that_fail_for_nothing_are_unexplained",
     .changes = {{"burst-80", harmed_by(&TcpLimitHarm::unexplained)}},
     .concluded = nothing("nothing tells why of 80", {}, 80)},
    {.name = "what_is_refused_without_a_word_of_a_limit_has_another_cause",
     .changes = {{"forward-200",
                  [](TcpLimitValues& seen) {
                      seen.forward_max = 0;
                      seen.forward_line = "";
                  }}},
     .concluded = nothing("says nothing of too many queries", {{"forward-200", "refused"}})},
    {.name = "what_is_lost_beside_refusals_is_unexplained",
     .changes = {{"forward-200",
                  [](TcpLimitValues& seen) {
                      seen.answered = 140;
                      seen.unanswered = 10;
                  }}},
     .concluded = {.causes = {{"forward-200", "lost"}}, .unexplained = 60}},
    {.name = "an_agent_that_died_concludes_nothing",
     .changes = {{"burst-80",
                  [](TcpLimitValues& seen) {
                      seen.objections = {"dnsmasq ended (signal 9 (Killed)): last words"};
                  }}},
     .concluded = nothing("last words")},
    {.name = "nothing_executed_concludes_nothing",
     .concluded = nothing("nothing was measured"),
     .without = "*"},
    {.name = "no_lookup_concludes_nothing",
     .changes = {{"burst-80", [](TcpLimitValues& seen) { seen = {}; }}},
     .concluded = nothing("no lookup was made"),
     .only = "burst-80"},
};

[[maybe_unused]] const bool kAdded =
    add_cases(dns_tcp_limit_plan, limit_as_usual, {kRows, of_each_cell()});

BOOST_AUTO_TEST_CASE(a_lookup_is_joined_to_where_its_tries_were) {
    OneLookup one;
    BOOST_TEST(one.harm().by_queue == 1U);
    // Accepted late in the try, and early in it.
    one.queue.connections[0].accepted_ns = 1'900'000'000;
    BOOST_TEST(one.harm().by_queue == 1U);
    one.queue.connections[0].accepted_ns = 300;
    BOOST_TEST(one.harm().by_server == 1U);
    one.queue.connections[0] = {.peer = {frame::IpAddress::v4(1), 5}, .accepted_ns = 200};
    BOOST_TEST(one.harm().by_server == 1U);
    // The server had answered, and nobody acknowledged that: a loss, unless it lasted for less than
    // a retransmission takes.
    one.queue.connections[0].unacknowledged_ns = 1'400'000'000;
    BOOST_TEST(one.harm().by_loss == 1U);
    one.queue.connections[0].unacknowledged_ns = 40'000'000;
    BOOST_TEST(one.harm().by_server == 1U);
    one = {};
    one.forwarder.tries[0].outcome = LimitTry::kRubbish;
    BOOST_TEST(one.harm().by_rubbish == 1U);
    // A connection of another host from that port does not count.
    one = {};
    one.queue.connections[0].peer.address = frame::IpAddress::v4(2);
    BOOST_TEST(one.harm().unexplained == 1U);
    // The try was not connected: the queue was full, or it was not.
    one = {};
    one.forwarder.tries[0].connected = false;
    BOOST_TEST(one.harm().not_connected == 1U);
    one.overflows = 1;
    BOOST_TEST(one.harm().by_queue == 1U);
    // Connected by a SYN cookie, and the queue was full.
    one = {};
    one.queue.connections.clear();
    one.overflows = 1;
    BOOST_TEST(one.harm().by_queue == 1U);
    // The server's own error, and a connection that was refused.
    one = {};
    one.forwarder.tries[0].outcome = LimitTry::kAnswered;
    BOOST_TEST(one.harm().by_answer == 1U);
    one.forwarder.tries[0].outcome = LimitTry::kRefused;
    BOOST_TEST(one.harm().by_refusal == 1U);
    // One bad try of another kind spoils it; no try at all tells nothing.
    one = {};
    one.forwarder.tries.push_back(one.forwarder.tries[0]);
    one.forwarder.tries[1].port = 6;
    BOOST_TEST(one.harm().unexplained == 1U);
    one.forwarder.tries.clear();
    BOOST_TEST(one.harm().unexplained == 1U);
    // In time and late.
    one = {};
    one.load.lookups[0].rcode = 0;
    BOOST_TEST(one.harm().all() == 0U);
    one.load.lookups[0].milliseconds = 2210;
    BOOST_TEST(one.harm().by_queue == 1U);
}

BOOST_AUTO_TEST_CASE(no_sentence_says_what_no_value_bears_out) {
    ten_thousand({{"REFUSED", {"refused"}},
                  {"with an error", {"servfail", "by_answer"}},
                  {"not at all", {"unanswered"}},
                  {"child processes of dnsmasq", {"workers"}},
                  {"Recv-Q of its socket", {"most_waiting"}},
                  {"ListenOverflows rose", {"overflows"}},
                  {"waited in the queue of", {"by_queue"}},
                  {"did not answer", {"by_server", "by_queue"}},
                  {"the server itself answered", {"by_answer"}},
                  {"dnsmasq had answered", {"by_loss"}},
                  {"is no DNS message", {"by_rubbish"}},
                  {"no connection came about", {"not_connected"}},
                  {"after the connections had ended", {"freed"}},
                  {"nothing tells why", {"unexplained"}}},
                 [](Dice& dice) {
                     std::vector<MeasuredTcpLimitCell> cells;
                     for (const TcpLimitCell& what : dns_tcp_limit_plan()) {
                         TcpLimitValues seen = limit_as_usual(what);
                         if (dice.one_in(9)) {
                             seen.lookups = dice.up_to(80);
                             seen.answered = dice.up_to(seen.lookups);
                             std::uint64_t left = seen.lookups - seen.answered;
                             for (auto part : {&TcpLimitValues::late, &TcpLimitValues::servfail,
                                               &TcpLimitValues::refused}) {
                                 seen.*part = dice.up_to(left);
                                 left -= seen.*part;
                             }
                             seen.unanswered = left;
                             left = seen.harmed();
                             seen.harm = {};
                             for (auto part : {&TcpLimitHarm::by_queue, &TcpLimitHarm::by_server,
                                               &TcpLimitHarm::by_loss, &TcpLimitHarm::by_rubbish,
                                               &TcpLimitHarm::by_answer, &TcpLimitHarm::by_refusal,
                                               &TcpLimitHarm::not_connected}) {
                                 seen.harm.*part = dice.up_to(left);
                                 left -= seen.harm.*part;
                             }
                             seen.harm.unexplained = left;
                             seen.workers = dice.up_to(21);
                             seen.most_waiting = dice.up_to(33);
                             seen.overflows = dice.up_to(33);
                             if (dice.one_in(2)) {
                                 seen.in_use = dice.up_to(20);
                             }
                             seen.udp_answered = !dice.one_in(4);
                             seen.forward_max = dice.up_to(150);
                             seen.forward_line = seen.forward_max != 0 ? "Maximum number" : "";
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
