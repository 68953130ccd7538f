#define BOOST_TEST_MODULE join
#include "harness/join/pairs.h"

#include <netinet/in.h>

#include <boost/test/unit_test.hpp>

using namespace pathproof;
using judge::QueryState;
using netfilter::Entry;
using netfilter::EventKind;

namespace {

frame::Endpoint at(const char* text) { return *frame::parse_endpoint(text); }

const frame::Endpoint kService = at("198.51.100.10:53");
const frame::Endpoint kBackend1 = at("203.0.113.2:53");
const frame::Endpoint kBackend2 = at("203.0.113.3:53");
const frame::Endpoint kClientA = at("198.18.0.2:10000");
const frame::Endpoint kClientB = at("198.18.128.2:10000");

// One pair: both halves from one client, or from two with the same port.
struct Bench {
    traffic::PairPlan plan;
    judge::PairReport report;
    netfilter::EventLog log;

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
        log.events.push_back({.kind = kind, .time_ns = 0, .entry = entry});
    }
    // What conntrack makes of an answer that no entry expects: a flow that the backend begins.
    void answer_as_new_flow(const frame::Endpoint& backend, const frame::Endpoint& client) {
        Entry entry;
        entry.original = {.source = backend, .destination = client, .protocol = IPPROTO_UDP};
        entry.reply = {.source = client, .destination = backend, .protocol = IPPROTO_UDP};
        entry.status = netfilter::status::kConfirmed;
        log.events.push_back({.kind = EventKind::kNew, .time_ns = 0, .entry = entry});
    }
    join::PairFindings join(std::uint64_t insert_failed) const {
        return join::join_pairs(plan, report, log, insert_failed);
    }
};

constexpr frame::Endpoint kNowhere{};

}  // namespace

BOOST_AUTO_TEST_CASE(a_pair_that_was_answered_has_nothing_to_explain) {
    Bench bench;
    bench.half(0, QueryState::kAnswered, kBackend1);
    bench.half(1, QueryState::kAnswered, kBackend1);
    bench.event(EventKind::kNew, kClientA, kBackend1, 0);
    const auto found = bench.join(0);
    BOOST_TEST(found.both_answered == 1u);
    BOOST_TEST(found.unexplained == 0u);
    BOOST_TEST(found.hidden_entries == 0u);
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
    const auto found = bench.join(0);
    BOOST_TEST(found.met_two_backends == 1u);
    BOOST_TEST(found.hidden_entries == 1u);
    BOOST_TEST(found.hidden_unanswered == 0u);
    BOOST_TEST(found.two_backends_without_hidden == 0u);
}

BOOST_AUTO_TEST_CASE(two_backends_without_a_hidden_entry_are_reported) {
    Bench bench;
    bench.half(0, QueryState::kAnswered, kBackend1);
    bench.half(1, QueryState::kAnswered, kBackend2);
    bench.event(EventKind::kNew, kClientA, kBackend1, 0);
    BOOST_TEST(bench.join(0).two_backends_without_hidden == 1u);
}

BOOST_AUTO_TEST_CASE(a_late_answer_is_joined_to_its_expired_entry) {
    Bench bench;
    bench.half(0, QueryState::kAnswered, kBackend1);
    bench.half(1, QueryState::kWrongSource, kBackend2);
    bench.report.records[1].answer_source = kBackend2;
    bench.event(EventKind::kNew, kClientA, kBackend1, 0);
    bench.event(EventKind::kDestroy, kClientA, kBackend2, netfilter::status::kNatClash);
    bench.answer_as_new_flow(kBackend2, kClientA);
    const auto found = bench.join(0);
    BOOST_TEST(found.misdelivered == 1u);
    BOOST_TEST(found.untranslated == 1u);
    BOOST_TEST(found.hidden_unanswered == 1u);
    BOOST_TEST(found.unexplained == 0u);
    BOOST_REQUIRE(found.stories.size() == 1u);
    BOOST_TEST((found.stories[0].fate == join::Fate::kUntranslatedAnswer));
    BOOST_TEST(found.stories[0].event.find("expired unanswered") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_misdelivered_answer_without_its_events_stays_unexplained) {
    Bench no_new_flow;
    no_new_flow.half(0, QueryState::kAnswered, kBackend1);
    no_new_flow.half(1, QueryState::kWrongSource, kBackend2);
    no_new_flow.report.records[1].answer_source = kBackend2;
    no_new_flow.event(EventKind::kNew, kClientA, kBackend1, 0);
    no_new_flow.event(EventKind::kDestroy, kClientA, kBackend2, netfilter::status::kNatClash);
    BOOST_TEST(no_new_flow.join(0).unexplained == 1u);

    Bench no_hidden;
    no_hidden.half(0, QueryState::kAnswered, kBackend1);
    no_hidden.half(1, QueryState::kWrongSource, kBackend2);
    no_hidden.report.records[1].answer_source = kBackend2;
    no_hidden.answer_as_new_flow(kBackend2, kClientA);
    BOOST_TEST(no_hidden.join(0).unexplained == 1u);
}

BOOST_AUTO_TEST_CASE(a_snat_collision_is_joined_to_the_winner_that_took_the_port) {
    Bench bench(kClientB);
    bench.half(0, QueryState::kAnswered, kBackend1);
    bench.half(1, QueryState::kNever, kNowhere);
    bench.event(EventKind::kNew, kClientA, kBackend1, 0);
    const auto found = bench.join(1);
    BOOST_TEST(found.lost == 1u);
    BOOST_TEST(found.dropped_at_insertion == 1u);
    BOOST_TEST(found.unexplained == 0u);
    BOOST_TEST(found.with_loss == 1u);
}

BOOST_AUTO_TEST_CASE(no_more_queries_are_blamed_on_insertion_than_the_kernel_counted) {
    Bench bench(kClientB);
    bench.half(0, QueryState::kAnswered, kBackend1);
    bench.half(1, QueryState::kNever, kNowhere);
    bench.event(EventKind::kNew, kClientA, kBackend1, 0);
    const auto found = bench.join(0);
    BOOST_TEST(found.dropped_at_insertion == 0u);
    BOOST_TEST(found.unexplained == 1u);
}

BOOST_AUTO_TEST_CASE(with_drawn_ports_a_failed_insertion_names_no_winner) {
    Bench drawn(kClientB);
    drawn.half(0, QueryState::kAnswered, kBackend1);
    drawn.half(1, QueryState::kNever, kNowhere);
    drawn.event(EventKind::kNew, kClientA, kBackend1, 0, 33'333);
    const auto found = drawn.join(1);
    BOOST_TEST(found.dropped_at_insertion == 1u);
    BOOST_REQUIRE(found.stories.size() == 1u);
    BOOST_TEST(found.stories[0].winner.empty());
    BOOST_TEST(drawn.join(0).unexplained == 1u);
}

BOOST_AUTO_TEST_CASE(a_loss_is_no_collision_when_both_were_inserted) {
    Bench both_inserted(kClientB);
    both_inserted.half(0, QueryState::kAnswered, kBackend1);
    both_inserted.half(1, QueryState::kNever, kNowhere);
    both_inserted.event(EventKind::kNew, kClientA, kBackend1, 0);
    both_inserted.event(EventKind::kNew, kClientB, kBackend1, 0);
    BOOST_TEST(both_inserted.join(1).unexplained == 1u);
}

BOOST_AUTO_TEST_CASE(a_query_lost_behind_the_server_is_not_blamed_on_conntrack) {
    Bench bench(kClientB);
    bench.half(0, QueryState::kAnswered, kBackend1);
    bench.half(1, QueryState::kNever, kBackend1);
    bench.event(EventKind::kNew, kClientA, kBackend1, 0);
    BOOST_TEST(bench.join(1).unexplained == 1u);
}
