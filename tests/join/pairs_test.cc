#define BOOST_TEST_MODULE join
#include "harness/join/pairs.h"

#include <netinet/in.h>

#include <boost/test/unit_test.hpp>

using namespace pathproof;
using join::Fate;
using judge::QueryState;
using netfilter::Entry;
using netfilter::EventKind;

namespace {

frame::Endpoint at(const char* text) {
    return *frame::parse_endpoint(text);
}

const frame::Endpoint kService = at("198.51.100.10:53");
const frame::Endpoint kBackend1 = at("203.0.113.2:53");
const frame::Endpoint kBackend2 = at("203.0.113.3:53");
const frame::Endpoint kClientA = at("198.18.0.2:10000");
const frame::Endpoint kClientB = at("198.18.128.2:10000");

// One pair: both halves from one client, or from two with the same port.
struct Bench {
    pairs::PairPlan plan;
    judge::PairReport report;
    join::DutRecord dut;
    std::chrono::nanoseconds delay{0};

    explicit Bench(const frame::Endpoint& second_client = kClientA) {
        plan.pairs = 1;
        plan.service = kService;
        plan.first_source_port = 10'000;
        plan.members[0].first_client = kClientA.address;
        plan.members[1].first_client = second_client.address;
        report.records.resize(2);
        report.records[1].member = 1;
    }
    void half(std::size_t member, QueryState state, const frame::Endpoint& server) {
        judge::QueryRecord& record = report.records[member];
        record.state = state;
        record.server_saw = server.port == 0 ? 0 : 1;
        record.server = server;
    }
    void event(EventKind kind, const frame::Endpoint& client, const frame::Endpoint& backend,
               std::uint32_t status, std::uint16_t port_after_nat = 10'000) {
        Entry entry;
        entry.original = {.source = client, .destination = kService, .protocol = IPPROTO_UDP};
        entry.reply = {.source = backend, .destination = client, .protocol = IPPROTO_UDP};
        entry.reply.destination.port = port_after_nat;
        entry.status = status | netfilter::status::kConfirmed;
        dut.log.events.push_back({.kind = kind, .time_ns = 0, .entry = entry});
    }
    // Adds the flow that conntrack makes of an answer which no entry expects: the backend begins
    // it.
    void answer_as_new_flow(const frame::Endpoint& backend, const frame::Endpoint& client) {
        Entry entry;
        entry.original = {.source = backend, .destination = client, .protocol = IPPROTO_UDP};
        entry.reply = {.source = client, .destination = backend, .protocol = IPPROTO_UDP};
        entry.status = netfilter::status::kConfirmed;
        dut.log.events.push_back({.kind = EventKind::kNew, .time_ns = 0, .entry = entry});
    }
    void answered_late(std::size_t member, const frame::Endpoint& from, std::int64_t age_ns) {
        report.records[member].answer_source = from;
        report.records[member].sent_ns = 0;
        report.records[member].answered_ns = age_ns;
    }
    void counts(const char* counter, std::uint64_t value) {
        if (dut.stats.empty()) {
            dut.stats.push_back({});
        }
        dut.stats[0].counters.push_back({counter, value});
    }
    join::PairFindings join(std::uint64_t insert_failed = 0) {
        counts("insert_failed", insert_failed);
        counts("drop", insert_failed);
        return join::join_pairs(plan, report, dut, delay);
    }
};

constexpr frame::Endpoint kNowhere{};

}  // namespace

BOOST_AUTO_TEST_CASE(a_pair_that_was_answered_has_nothing_to_explain) {
    Bench bench;
    bench.half(0, QueryState::kAnswered, kBackend1);
    bench.half(1, QueryState::kAnswered, kBackend1);
    bench.event(EventKind::kNew, kClientA, kBackend1, 0);
    const auto found = bench.join();
    BOOST_TEST(found.count(Fate::kNone) == 2u);
    BOOST_TEST(found.count(Fate::kUnexplained) == 0u);
    BOOST_TEST(found.with(join::kHiddenEntry) == 0u);
    BOOST_TEST(found.stories.empty());
}

BOOST_AUTO_TEST_CASE(a_clash_resolved_in_time_is_seen_by_its_hidden_entry) {
    Bench bench;
    bench.half(0, QueryState::kAnswered, kBackend1);
    bench.half(1, QueryState::kAnswered, kBackend2);
    bench.event(EventKind::kNew, kClientA, kBackend1, 0);
    bench.event(EventKind::kUpdate, kClientA, kBackend2,
                netfilter::status::kNatClash | netfilter::status::kSeenReply);
    bench.event(EventKind::kDestroy, kClientA, kBackend2,
                netfilter::status::kNatClash | netfilter::status::kSeenReply);
    const auto found = bench.join();
    BOOST_TEST(found.with(join::kTwoBackends) == 1u);
    BOOST_TEST(found.with(join::kHiddenEntry) == 1u);
    BOOST_TEST(found.hidden_unanswered == 0u);
    BOOST_TEST(found.with(join::kTwoBackends | join::kHiddenEntry) == 1u);
}

BOOST_AUTO_TEST_CASE(two_backends_without_a_hidden_entry_are_reported) {
    Bench bench;
    bench.half(0, QueryState::kAnswered, kBackend1);
    bench.half(1, QueryState::kAnswered, kBackend2);
    bench.event(EventKind::kNew, kClientA, kBackend1, 0);
    const auto found = bench.join();
    BOOST_TEST(found.with(join::kTwoBackends) == 1u);
    BOOST_TEST(found.with(join::kHiddenEntry) == 0u);
}

BOOST_AUTO_TEST_CASE(a_late_answer_is_joined_to_its_expired_entry) {
    Bench bench;
    bench.half(0, QueryState::kAnswered, kBackend1);
    bench.half(1, QueryState::kWrongSource, kBackend2);
    bench.answered_late(1, kBackend2, 1'500'000'000);
    bench.event(EventKind::kNew, kClientA, kBackend1, 0);
    bench.event(EventKind::kDestroy, kClientA, kBackend2, netfilter::status::kNatClash);
    bench.answer_as_new_flow(kBackend2, kClientA);
    const auto found = bench.join();
    BOOST_TEST(found.count(QueryState::kWrongSource) == 1u);
    BOOST_TEST(found.count(Fate::kUntranslatedAnswer) == 1u);
    BOOST_TEST(found.hidden_unanswered == 1u);
    BOOST_TEST(found.count(Fate::kUnexplained) == 0u);
    BOOST_REQUIRE(found.stories.size() == 1u);
    BOOST_TEST((found.stories[0].fate == join::Fate::kUntranslatedAnswer));
    BOOST_TEST(found.stories[0].event.find("expired unanswered") != std::string::npos);
}

// One packet of a pair meets the clash: 285 answers of 258 hidden entries is no account.
BOOST_AUTO_TEST_CASE(a_hidden_entry_tells_of_one_answer) {
    Bench bench;
    for (const std::size_t member : {0U, 1U}) {
        bench.half(member, QueryState::kWrongSource, kBackend2);
        bench.answered_late(member, kBackend2, 1'500'000'000);
    }
    bench.event(EventKind::kNew, kClientA, kBackend1, 0);
    bench.event(EventKind::kDestroy, kClientA, kBackend2, netfilter::status::kNatClash);
    bench.answer_as_new_flow(kBackend2, kClientA);
    const auto found = bench.join();
    BOOST_TEST(found.count(Fate::kUntranslatedAnswer) == 1U);
    BOOST_TEST(found.count(Fate::kUnexplained) == 1U);
    BOOST_TEST(found.with(join::kHiddenEntry) == 1U);
}

BOOST_AUTO_TEST_CASE(a_misdelivered_answer_without_its_events_stays_unexplained) {
    Bench no_new_flow;
    no_new_flow.half(0, QueryState::kAnswered, kBackend1);
    no_new_flow.half(1, QueryState::kWrongSource, kBackend2);
    no_new_flow.answered_late(1, kBackend2, 1'500'000'000);
    no_new_flow.event(EventKind::kNew, kClientA, kBackend1, 0);
    no_new_flow.event(EventKind::kDestroy, kClientA, kBackend2, netfilter::status::kNatClash);
    BOOST_TEST(no_new_flow.join(0).count(Fate::kUnexplained) == 1u);

    Bench no_hidden;
    no_hidden.half(0, QueryState::kAnswered, kBackend1);
    no_hidden.half(1, QueryState::kWrongSource, kBackend2);
    no_hidden.answered_late(1, kBackend2, 1'500'000'000);
    no_hidden.answer_as_new_flow(kBackend2, kClientA);
    BOOST_TEST(no_hidden.join(0).count(Fate::kUnexplained) == 1u);
}

BOOST_AUTO_TEST_CASE(a_snat_collision_is_joined_to_the_winner_that_took_the_port) {
    Bench bench(kClientB);
    bench.half(0, QueryState::kAnswered, kBackend1);
    bench.half(1, QueryState::kNever, kNowhere);
    bench.event(EventKind::kNew, kClientA, kBackend1, 0);
    const auto found = bench.join(1);
    BOOST_TEST(found.count(QueryState::kNever) == 1u);
    BOOST_TEST(found.count(Fate::kDroppedAtInsertion) == 1u);
    BOOST_TEST(found.count(Fate::kUnexplained) == 0u);
    BOOST_TEST(found.with(join::kLost) == 1u);
}

BOOST_AUTO_TEST_CASE(no_more_queries_are_blamed_on_insertion_than_the_kernel_counted) {
    Bench bench(kClientB);
    bench.half(0, QueryState::kAnswered, kBackend1);
    bench.half(1, QueryState::kNever, kNowhere);
    bench.event(EventKind::kNew, kClientA, kBackend1, 0);
    const auto found = bench.join();
    BOOST_TEST(found.count(Fate::kDroppedAtInsertion) == 0u);
    BOOST_TEST(found.count(Fate::kUnexplained) == 1u);
}

BOOST_AUTO_TEST_CASE(with_drawn_ports_a_failed_insertion_names_no_winner) {
    Bench drawn(kClientB);
    drawn.half(0, QueryState::kAnswered, kBackend1);
    drawn.half(1, QueryState::kNever, kNowhere);
    drawn.event(EventKind::kNew, kClientA, kBackend1, 0, 33'333);
    const auto found = drawn.join(1);
    BOOST_TEST(found.count(Fate::kDroppedAtInsertion) == 1u);
    BOOST_REQUIRE(found.stories.size() == 1u);
    BOOST_TEST(found.stories[0].winner.empty());
}

BOOST_AUTO_TEST_CASE(a_loss_is_no_collision_when_both_were_inserted) {
    Bench both_inserted(kClientB);
    both_inserted.half(0, QueryState::kAnswered, kBackend1);
    both_inserted.half(1, QueryState::kNever, kNowhere);
    both_inserted.event(EventKind::kNew, kClientA, kBackend1, 0);
    both_inserted.event(EventKind::kNew, kClientB, kBackend1, 0);
    BOOST_TEST(both_inserted.join(1).count(Fate::kUnexplained) == 1u);
}

BOOST_AUTO_TEST_CASE(a_query_lost_behind_the_server_is_not_blamed_on_conntrack) {
    Bench bench(kClientB);
    bench.half(0, QueryState::kAnswered, kBackend1);
    bench.half(1, QueryState::kNever, kBackend1);
    bench.event(EventKind::kNew, kClientA, kBackend1, 0);
    BOOST_TEST(bench.join(1).count(Fate::kUnexplained) == 1u);
}

// The hidden entry of a clash lives for one second: what came before that came back un-translated
// for another reason.
BOOST_AUTO_TEST_CASE(an_answer_younger_than_a_hidden_entry_is_not_joined_to_its_end) {
    for (const auto& [age_ns, expired] :
         {std::pair{200'000'000, 0u}, {999'000'000, 0u}, {1'001'000'000, 1u}}) {
        Bench bench;
        bench.half(0, QueryState::kAnswered, kBackend1);
        bench.half(1, QueryState::kWrongSource, kBackend2);
        bench.answered_late(1, kBackend2, age_ns);
        bench.event(EventKind::kNew, kClientA, kBackend1, 0);
        bench.event(EventKind::kDestroy, kClientA, kBackend2, netfilter::status::kNatClash);
        bench.answer_as_new_flow(kBackend2, kClientA);
        const auto found = bench.join();
        BOOST_TEST(found.count(Fate::kUntranslatedAnswer) == expired);
        BOOST_TEST(found.count(Fate::kUnexplained) == 1u - expired);
    }
}

BOOST_AUTO_TEST_CASE(an_answer_whose_entry_somebody_had_destroyed_is_joined_to_that) {
    for (const bool by_us : {false, true}) {
        Bench bench;
        bench.half(0, QueryState::kAnswered, kBackend1);
        bench.half(1, QueryState::kWrongSource, kBackend2);
        bench.answered_late(1, kBackend2, 1'500'000'000);
        bench.event(EventKind::kNew, kClientA, kBackend1, 0);
        bench.event(EventKind::kDestroy, kClientA, kBackend2, netfilter::status::kNatClash);
        bench.dut.log.events.back().cause_port = 4711;
        bench.dut.log.events.back().time_ns = 1000;
        bench.dut.flushed_ns = by_us ? 999 : 1001;
        bench.answer_as_new_flow(kBackend2, kClientA);
        const auto found = bench.join();
        BOOST_TEST(found.count(Fate::kFlushed) == (by_us ? 0u : 1u));
        BOOST_TEST(found.count(Fate::kUntranslatedAnswer) == (by_us ? 1u : 0u));
        BOOST_TEST(found.flushed_entries == (by_us ? 0u : 1u));
    }
}

BOOST_AUTO_TEST_CASE(a_query_without_an_entry_is_joined_to_the_full_table_that_refused_it) {
    for (const std::uint64_t entries : {300u, 200u}) {
        Bench bench;
        bench.half(0, QueryState::kAnswered, kBackend1);
        bench.half(1, QueryState::kNever, kNowhere);
        bench.dut.table = {.entries = entries, .maximum = 300};
        bench.counts("drop", 1);
        const auto found = bench.join();
        BOOST_TEST(found.count(Fate::kTableFull) == (entries == 300 ? 1u : 0u));
        BOOST_TEST(found.count(Fate::kUnexplained) == (entries == 300 ? 0u : 1u));
    }
}

BOOST_AUTO_TEST_CASE(a_loss_is_joined_to_the_link_that_was_down_when_it_left) {
    // The clocks differ by what the answered query's entry shows: 5 s. An outage counts until the
    // answer is due.
    for (const auto& [left_ns, down] : {std::pair{100'000'000, 0u},
                                        {900'000'000, 1u},
                                        {1'100'000'000, 1u},
                                        {2'000'000'000, 0u}}) {
        Bench bench(kClientB);
        bench.half(0, QueryState::kAnswered, kBackend1);
        bench.half(1, QueryState::kNever, kNowhere);
        bench.report.records[0].sent_ns = bench.report.records[1].sent_ns = left_ns;
        bench.delay = std::chrono::milliseconds(200);
        bench.event(EventKind::kNew, kClientA, kBackend1, 0);
        bench.dut.log.events.back().kernel_time_ns = 5'000'000'000 + left_ns;
        bench.dut.outages = {{.device = "ds", .from_ns = 6'000'000'000, .until_ns = 6'600'000'000}};
        const auto found = bench.join();
        BOOST_TEST(found.count(Fate::kLinkDown) == down, "left at " << left_ns);
        BOOST_TEST(found.count(Fate::kUnexplained) == 1u - down);
        BOOST_TEST((found.down.contains("ds") ? 1u : 0u) == down);
    }
}

BOOST_AUTO_TEST_CASE(no_more_queries_are_blamed_on_a_drop_reason_than_packets_met_it) {
    for (const std::uint64_t packets : {0u, 1u, 2u, 5u}) {
        Bench bench(kClientB);
        bench.half(0, QueryState::kNever, kNowhere);
        bench.half(1, QueryState::kNever, kBackend1);
        bench.dut.untraced.clear();
        bench.dut.drops.counts = {
            {.reason = "NETFILTER_DROP",
             .location = "nft_do_chain+0x1",
             .protocol = "ip/udp",
             .packets = packets},
            {.reason = "IP_INVALID_SOURCE",
             .location = "ip_rcv_finish_core",
             .protocol = "ip/udp",
             .packets = 9},
            {.reason = "NO_SOCKET", .location = "x", .protocol = "ip/tcp", .packets = 9}};
        const auto found = bench.join();
        BOOST_TEST(found.count(Fate::kDropped) == std::min<std::uint64_t>(packets, 2));
        BOOST_TEST(found.count(Fate::kUnexplained) == 2 - std::min<std::uint64_t>(packets, 2));
    }
}

// A packet that conntrack refused is in the drop reasons, too, but no rule dropped it.
BOOST_AUTO_TEST_CASE(a_packet_that_conntrack_refused_is_not_counted_as_dropped_by_a_rule) {
    Bench bench(kClientB);
    bench.half(0, QueryState::kAnswered, kBackend1);
    bench.half(1, QueryState::kNever, kBackend1);
    bench.dut.untraced.clear();
    bench.dut.drops.counts = {{.reason = "NETFILTER_DROP",
                               .location = "nf_hook_slow+0xa7",
                               .protocol = "ip/udp",
                               .flow = drops::FlowState::kNewPastNat,
                               .packets = 3}};
    BOOST_TEST(bench.join(3).count(Fate::kUnexplained) == 1u);
}

namespace {

// Pairs of two clients with one port, of which each second query is lost and the first one has its
// entry: what an insertion that failed looks like, whatever dropped the packets.
Bench lost_seconds(std::uint32_t pairs) {
    Bench bench(kClientB);
    bench.plan.pairs = pairs;
    bench.plan.source_ports = 1;
    bench.report.records.clear();
    for (std::uint32_t pair = 0; pair < pairs; ++pair) {
        bench.report.records.push_back(
            {.pair = pair, .state = QueryState::kAnswered, .server_saw = 1, .server = kBackend1});
        bench.report.records.push_back({.pair = pair, .member = 1, .state = QueryState::kNever});
        bench.event(EventKind::kNew, bench.plan.client(pair, 0), kBackend1, 0);
    }
    bench.dut.untraced.clear();
    bench.dut.own.not_followed.clear();
    return bench;
}

// The second client of a pair, as it leaves and behind source NAT.
frame::Endpoint second_of(const Bench& bench, std::uint32_t pair) {
    return bench.plan.client(pair, 1);
}

const join::OwnDrop kAtInsertion{
    .cause = "insert-failed", .text = "by conntrack", .hook = "postrouting"};

}  // namespace

// snat-race where tc drops 3 % before conntrack, while insertions of foreign flows fail.
BOOST_AUTO_TEST_CASE(a_query_whose_own_packet_told_nothing_is_not_blamed_on_foreign_insertions) {
    Bench bench = lost_seconds(3);
    bench.dut.own.queries.emplace(second_of(bench, 0), kAtInsertion);
    bench.dut.own.queries.emplace(
        second_of(bench, 1),
        join::OwnDrop{.cause = "tc-egress", .text = "by tc at egress, device ds"});
    const auto found = bench.join(452);
    BOOST_TEST(found.count(Fate::kDroppedAtInsertion) == 1U);
    BOOST_TEST(found.count(Fate::kDropped) == 1U);
    BOOST_TEST(found.dropped.at("by tc at egress, device ds") == 1U);
    BOOST_TEST(found.count(Fate::kUnexplained) == 1U);

    Bench by_counters = lost_seconds(3);
    by_counters.dut.own = {};
    BOOST_TEST(by_counters.join(452).count(Fate::kDroppedAtInsertion) == 3U);
}

// Many flows behind one address: the tuple of a query may be taken by a flow of another pair, when its own
// partner was lost too.
BOOST_AUTO_TEST_CASE(a_packet_dropped_at_insertion_behind_nat_may_have_met_another_pair) {
    for (const std::uint64_t counted : {2U, 0U}) {
        Bench bench = lost_seconds(2);
        bench.dut.log.events.erase(bench.dut.log.events.begin());
        bench.dut.log.events[0].entry.reply.destination.address = at("203.0.113.1:0").address;
        bench.report.records[0] = {.pair = 0, .state = QueryState::kNever};
        bench.dut.drops.counts = {{.reason = "NETFILTER_DROP",
                                   .location = "nf_hook_slow+0xa7",
                                   .protocol = "ip/udp",
                                   .flow = drops::FlowState::kNewPastNat,
                                   .packets = counted}};
        bench.dut.own.queries.emplace(bench.plan.client(0, 0), kAtInsertion);
        bench.dut.own.queries.emplace(second_of(bench, 0), kAtInsertion);
        const auto found = bench.join(counted);
        BOOST_TEST(found.count(Fate::kDroppedAtInsertion) == counted);
        BOOST_TEST(found.count(Fate::kDropped) == 2 - counted);
    }
}

// The winner of a collision and the one that was refused had one tuple when they were dropped.
BOOST_AUTO_TEST_CASE(two_drops_of_one_tuple_behind_nat_are_told_apart_by_the_entry) {
    for (const bool refused_first : {true, false}) {
        Bench bench(kClientB);
        const frame::Endpoint box = at("203.0.113.1:10000");
        bench.half(0, QueryState::kNever, kNowhere);
        bench.half(1, QueryState::kNever, kNowhere);
        bench.event(EventKind::kNew, kClientA, kBackend1, 0);
        bench.dut.log.events[0].entry.reply.destination = box;
        bench.dut.own.not_followed.clear();
        const join::OwnDrop full{.cause = "qdisc", .text = "by a queueing discipline"};
        bench.dut.own.queries.emplace(box, refused_first ? kAtInsertion : full);
        bench.dut.own.queries.emplace(box, refused_first ? full : kAtInsertion);
        const auto found = bench.join(1);
        BOOST_TEST(found.count(Fate::kDroppedAtInsertion) == 1U, refused_first);
        BOOST_TEST(found.count(Fate::kOverload) == 1U, refused_first);
        BOOST_TEST(found.count(Fate::kUnexplained) == 0U, refused_first);
    }
}

BOOST_AUTO_TEST_CASE(a_packet_that_tells_of_a_failed_insertion_needs_the_counter_beside_it) {
    Bench bench = lost_seconds(1);
    bench.dut.own.queries.emplace(second_of(bench, 0), kAtInsertion);
    const auto found = bench.join(0);
    BOOST_TEST(found.count(Fate::kDroppedAtInsertion) == 0U);
    BOOST_TEST(found.count(Fate::kDropped) == 1U);
}

BOOST_AUTO_TEST_CASE(a_full_table_refuses_packets_where_they_come_in) {
    for (const char* hook : {"prerouting", "forward"}) {
        Bench bench = lost_seconds(1);
        bench.counts("drop", 5);
        bench.dut.table = {.entries = 300, .maximum = 300};
        bench.dut.own.queries.emplace(
            second_of(bench, 0),
            join::OwnDrop{.cause = "netfilter", .text = "by netfilter", .hook = hook});
        const auto found = bench.join();
        const bool refused = hook == std::string("prerouting");
        BOOST_TEST(found.count(Fate::kTableFull) == (refused ? 1U : 0U), hook);
        BOOST_TEST(found.count(Fate::kDropped) == (refused ? 0U : 1U), hook);
    }
}

BOOST_AUTO_TEST_CASE(a_query_that_a_rule_dropped_in_an_outage_is_the_rules) {
    for (const char* cause : {"rule", "no-route"}) {
        Bench bench = lost_seconds(1);
        bench.report.records[1].sent_ns = 0;
        bench.dut.began_ns = 1'000;
        bench.dut.outages = {{.device = "ds", .from_ns = 0, .until_ns = INT64_MAX}};
        bench.dut.own.queries.emplace(second_of(bench, 0),
                                      join::OwnDrop{.cause = cause, .text = "there"});
        const auto found = bench.join();
        const bool down = cause == std::string("no-route");
        BOOST_TEST(found.count(Fate::kLinkDown) == (down ? 1U : 0U), cause);
        BOOST_TEST(found.count(Fate::kDropped) == (down ? 0U : 1U), cause);
    }
}

BOOST_AUTO_TEST_CASE(an_answer_that_was_dropped_is_told) {
    Bench bench = lost_seconds(1);
    bench.half(1, QueryState::kNever, kBackend1);
    bench.report.records[1].member = 1;
    bench.dut.own.answers.emplace(second_of(bench, 0),
                                  join::OwnDrop{.cause = "rule", .text = "by a rule or a policy"});
    const auto found = bench.join();
    BOOST_TEST(found.count(Fate::kDropped) == 1U);
    BOOST_REQUIRE(found.stories.size() == 1U);
    BOOST_TEST(found.stories[0].event == "the answer was dropped by a rule or a policy");
}

// MASQUERADE keeps the port of a client, or draws one.
BOOST_AUTO_TEST_CASE(a_packet_behind_source_nat_is_known_by_the_port_that_it_kept) {
    const frame::Endpoint box = at("203.0.113.1:0");
    for (const auto& [port_after_nat, dropped_from] :
         {std::pair{10'000, 10'000}, {10'000, 10'001}, {31'000, 32'000}}) {
        Bench bench(kClientB);
        bench.half(0, QueryState::kAnswered, kBackend1);
        bench.half(1, QueryState::kNever, kNowhere);
        bench.event(EventKind::kNew, kClientA, kBackend1, 0,
                    static_cast<std::uint16_t>(port_after_nat));
        bench.dut.log.events[0].entry.reply.destination.address = box.address;
        bench.dut.own.not_followed.clear();
        bench.dut.own.queries.emplace(
            frame::Endpoint{box.address, static_cast<std::uint16_t>(dropped_from)}, kAtInsertion);
        const bool is_own = port_after_nat != 10'000 || dropped_from == 10'000;
        const auto found = bench.join(1);
        BOOST_TEST(found.count(Fate::kDroppedAtInsertion) == (is_own ? 1U : 0U), dropped_from);
        BOOST_TEST(found.count(Fate::kUnexplained) == (is_own ? 0U : 1U), dropped_from);
    }
}

BOOST_AUTO_TEST_CASE(a_drop_that_a_packet_told_is_no_other_query_s_by_counters) {
    Bench bench = lost_seconds(2);
    bench.dut.drops.counts = {{.reason = "TC_EGRESS",
                               .location = "sch_handle_egress+0x1",
                               .protocol = "ip/udp",
                               .packets = 1}};
    bench.dut.own.queries.emplace(second_of(bench, 0),
                                  join::OwnDrop{.cause = "tc-egress",
                                                .text = "by tc at egress",
                                                .counted_as = "TC_EGRESS at sch_handle_egress"});
    const auto found = bench.join();
    BOOST_TEST(found.dropped.at("by tc at egress") == 1U);
    BOOST_TEST(found.count(Fate::kDropped) == 1U);
    BOOST_TEST(found.count(Fate::kUnexplained) == 1U);
}

BOOST_AUTO_TEST_CASE(a_packet_that_found_a_queue_full_is_lost_to_overload_and_no_race) {
    for (const char* cause : {"qdisc", "backlog", "ring-full", "tc-ingress"}) {
        Bench bench = lost_seconds(1);
        bench.dut.own.queries.emplace(second_of(bench, 0),
                                      join::OwnDrop{.cause = cause, .text = "there"});
        const auto found = bench.join(1);
        const bool queue = cause != std::string("tc-ingress");
        BOOST_TEST(found.count(Fate::kOverload) == (queue ? 1U : 0U), cause);
        BOOST_TEST(found.count(Fate::kDropped) == (queue ? 0U : 1U), cause);
        BOOST_TEST(found.count(Fate::kDroppedAtInsertion) == 0U, cause);
        BOOST_TEST(found.overloaded.size() == (queue ? 1U : 0U), cause);
    }
}

// A ring drops before any packet is one of the kernel's, a backlog on kernels that give no reasons.
BOOST_AUTO_TEST_CASE(full_queues_that_only_counters_tell_explain_as_many_losses_as_they_count) {
    Bench bench = lost_seconds(6);
    bench.dut.rings = {{"the receive ring of d0 (rx_missed_errors)", 2}};
    bench.dut.backlog = 3;
    const auto found = bench.join();
    BOOST_TEST(found.count(Fate::kOverload) == 5U);
    BOOST_TEST(found.count(Fate::kUnexplained) == 1U);

    // A backlog that told its reasons is not counted again.
    Bench traced = lost_seconds(6);
    traced.dut.backlog = 3;
    traced.dut.drops.counts = {{.reason = "CPU_BACKLOG",
                                .location = "enqueue_to_backlog+0x1",
                                .protocol = "ip/udp",
                                .packets = 3}};
    BOOST_TEST(traced.join().count(Fate::kOverload) == 3U);
}

BOOST_AUTO_TEST_CASE(each_entry_belongs_to_a_query_and_each_query_to_an_entry) {
    Bench bench = lost_seconds(3);
    BOOST_TEST(bench.join().entries == 3U);
    BOOST_TEST(bench.join().unheard == 0U);
    BOOST_TEST(bench.join().strange_entries == 0U);

    Bench silent = lost_seconds(3);
    silent.dut.log.events.erase(silent.dut.log.events.begin());
    BOOST_TEST(silent.join().unheard == 1U);

    Bench found_again = lost_seconds(3);
    found_again.dut.log.events[1].missed = true;
    BOOST_TEST(found_again.join().entries_found == 1U);
    BOOST_TEST(found_again.join().unheard == 0U);

    Bench stranger = lost_seconds(3);
    stranger.event(EventKind::kNew, at("198.18.7.7:4000"), kBackend1, 0);
    BOOST_TEST(stranger.join().strange_entries == 1U);

    // Both halves of one 5-tuple share an entry.
    Bench shared;
    shared.half(0, QueryState::kAnswered, kBackend1);
    shared.half(1, QueryState::kAnswered, kBackend1);
    BOOST_TEST(shared.join().unheard == 1U);
    shared.event(EventKind::kNew, kClientA, kBackend1, 0);
    BOOST_TEST(shared.join().unheard == 0U);
}

BOOST_AUTO_TEST_CASE(drops_whose_records_found_no_room_are_told_by_counters) {
    fate::Fates fates{.netns = "dut"};
    BOOST_TEST(join::own_drops(fates).by_packet());
    fates.not_kept = 7;
    BOOST_TEST(join::own_drops(fates).not_followed.find("7 dropped packets") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(own_drops_are_those_of_the_followers_namespace) {
    fate::Fates fates{.netns = "dut"};
    const auto end = [&](fate::Ending ending, const char* netns) {
        fates.ends.push_back({.end = {.ending = ending,
                                      .cause = "tc-egress",
                                      .text = "by tc at egress",
                                      .reason = "TC_EGRESS",
                                      .place = "sch_handle_egress",
                                      .device = "ds",
                                      .netns = netns}});
        return static_cast<std::uint32_t>(fates.ends.size() - 1);
    };
    const auto dropped = end(fate::Ending::kDropped, "dut");
    const auto elsewhere = end(fate::Ending::kDropped, "another");
    const auto delivered = end(fate::Ending::kDelivered, "dut");
    fates.each = {{.last_source = kClientA, .last_destination = kBackend1, .end = dropped},
                  {.direction = fate::Direction::kBack,
                   .last_source = kBackend1,
                   .last_destination = kClientB,
                   .end = dropped},
                  {.last_source = kClientA, .end = elsewhere},
                  {.last_source = kClientA, .end = delivered},
                  {.direction = fate::Direction::kError, .last_source = kClientA, .end = dropped}};
    const join::OwnDrops drops = join::own_drops(fates);
    BOOST_TEST(drops.by_packet());
    const join::OwnDrop expected{.cause = "tc-egress",
                                 .text = "by tc at egress, device ds",
                                 .counted_as = "TC_EGRESS at sch_handle_egress"};
    BOOST_TEST((drops.queries == join::OwnDrops::ByClient{{kClientA, expected}}));
    BOOST_TEST((drops.answers == join::OwnDrops::ByClient{{kClientB, expected}}));

    fates.lost = 2;
    BOOST_TEST(join::own_drops(fates).not_followed == "2 packets could not be followed");
    BOOST_TEST(join::own_drops(fate::Fates{.not_followed = "no BTF"}).not_followed == "no BTF");
}

BOOST_AUTO_TEST_CASE(a_right_answer_after_the_timeout_came_by_a_slow_path) {
    Bench bench;
    bench.half(0, QueryState::kAnswered, kBackend1);
    bench.half(1, QueryState::kLate, kBackend1);
    const auto found = bench.join();
    BOOST_TEST(found.count(Fate::kSlow) == 1u);
    BOOST_TEST(found.with(join::kLateOrWrong) == 1u);
}
