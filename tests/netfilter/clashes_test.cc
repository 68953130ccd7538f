#include "harness/netfilter/clashes.h"

#include <boost/test/unit_test.hpp>

#include "tests/netfilter/message_builder.h"

using namespace pathproof;
using namespace pathproof::netfilter;

namespace {

constexpr const char* kClient = "198.18.0.1:40000";
constexpr const char* kService = "198.18.9.10:53";
constexpr const char* kFirst = "198.18.9.2:53";
constexpr const char* kSecond = "198.18.9.3:53";
constexpr std::uint32_t kHiddenBits =
    status::kConfirmed | status::kDstNat | status::kNatClash | status::kFixedTimeout;

const Entry kWinner = make_entry(kClient, kService, kFirst, 1);
const Entry kHidden = make_entry(kClient, kService, kSecond, 2, kHiddenBits);

Entry answered(Entry entry) {
    entry.status |= status::kSeenReply;
    return entry;
}

// A flow that a backend's late answer begins.
Entry flow(const char* source, const char* destination, std::uint32_t id = 50) {
    Entry entry;
    entry.id = id;
    entry.original = make_tuple(source, destination);
    entry.reply = make_tuple(destination, source);
    entry.status = status::kConfirmed;
    return entry;
}

// Events a second apart.
EventLog log_of(const std::vector<std::pair<EventKind, Entry>>& events) {
    EventLog log;
    std::int64_t time = 1'000'000'000;
    for (const auto& [kind, entry] : events) {
        log.events.push_back({.kind = kind, .time_ns = time, .entry = entry});
        time += 1'000'000'000;
    }
    return log;
}

constexpr auto kNew = EventKind::kNew;
constexpr auto kUpdate = EventKind::kUpdate;
constexpr auto kDestroy = EventKind::kDestroy;

}  // namespace

BOOST_AUTO_TEST_CASE(an_update_of_a_hidden_entry_is_a_clash_answered_in_time) {
    const ClashReport report = find_clashes(log_of({{kNew, kWinner},
                                                    {kUpdate, answered(kWinner)},
                                                    {kUpdate, answered(kHidden)},
                                                    {kDestroy, answered(kHidden)},
                                                    {kDestroy, answered(kWinner)}}));
    BOOST_REQUIRE_EQUAL(report.clashes.size(), 1U);
    const Clash& clash = report.clashes[0];
    BOOST_TEST((clash.fate == Clash::Fate::kAnswered));
    BOOST_TEST((clash.hidden.original == kHidden.original));
    BOOST_TEST((clash.hidden.reply == kHidden.reply));
    BOOST_REQUIRE(clash.winner);
    BOOST_TEST((clash.winner->reply == kWinner.reply));
    BOOST_TEST((clash.answered_ns == std::optional<std::int64_t>(3'000'000'000)));
    BOOST_TEST((clash.destroyed_ns == std::optional<std::int64_t>(4'000'000'000)));
    BOOST_TEST(report.late_answers.empty());
}

BOOST_AUTO_TEST_CASE(a_destroy_without_an_update_is_a_clash_that_nobody_answered) {
    const ClashReport report = find_clashes(log_of({{kNew, kWinner}, {kDestroy, kHidden}}));
    BOOST_REQUIRE_EQUAL(report.clashes.size(), 1U);
    BOOST_TEST((report.clashes[0].fate == Clash::Fate::kUnanswered));
    BOOST_TEST(!report.clashes[0].answered_ns);
    BOOST_TEST(report.count(Clash::Fate::kUnanswered) == 1U);
    BOOST_TEST(report.count(Clash::Fate::kAnswered) == 0U);
}

BOOST_AUTO_TEST_CASE(the_seen_reply_bit_in_a_destroy_alone_means_answered) {
    const ClashReport report =
        find_clashes(log_of({{kNew, kWinner}, {kDestroy, answered(kHidden)}}));
    BOOST_TEST(report.count(Clash::Fate::kAnswered) == 1U);
}

BOOST_AUTO_TEST_CASE(an_update_that_is_no_reply_leaves_the_fate_open) {
    const ClashReport report = find_clashes(log_of({{kNew, kWinner}, {kUpdate, kHidden}}));
    BOOST_TEST(report.count(Clash::Fate::kOpen) == 1U);
}

BOOST_AUTO_TEST_CASE(ordinary_flows_are_no_clashes) {
    const ClashReport report = find_clashes(log_of({{kNew, kWinner},
                                                    {kUpdate, answered(kWinner)},
                                                    {kDestroy, answered(kWinner)},
                                                    {kUpdate, answered(flow(kClient, kFirst))}}));
    BOOST_TEST(report.clashes.empty());
    BOOST_TEST(report.late_answers.empty());
}

BOOST_AUTO_TEST_CASE(an_entry_that_had_a_new_event_is_not_hidden) {
    // Bit 12 was IPS_UNTRACKED before 4.12, and may mean something else again.
    const ClashReport report =
        find_clashes(log_of({{kNew, kHidden}, {kUpdate, kHidden}, {kDestroy, kHidden}}));
    BOOST_TEST(report.clashes.empty());
}

BOOST_AUTO_TEST_CASE(a_late_answer_belongs_to_the_clash_whose_hidden_entry_expired) {
    for (const bool destroyed_first : {true, false}) {
        std::vector<std::pair<EventKind, Entry>> events{{kNew, kWinner},
                                                        {kUpdate, answered(kWinner)}};
        const std::pair<EventKind, Entry> destroy{kDestroy, kHidden};
        const std::pair<EventKind, Entry> late{kNew, flow("198.18.9.3:53", kClient)};
        events.push_back(destroyed_first ? destroy : late);
        events.push_back(destroyed_first ? late : destroy);
        const ClashReport report = find_clashes(log_of(events));
        BOOST_REQUIRE_EQUAL(report.clashes.size(), 1U);
        BOOST_REQUIRE_EQUAL(report.late_answers.size(), 1U);
        BOOST_TEST((report.clashes[0].fate == Clash::Fate::kUnanswered));
        BOOST_TEST((report.late_answers[0].clash == std::optional<std::size_t>(0)));
        BOOST_TEST(
            (report.late_answers[0].event.entry.original == make_tuple("198.18.9.3:53", kClient)));
    }
}

BOOST_AUTO_TEST_CASE(a_late_answer_whose_hidden_entry_was_not_seen_belongs_to_the_clients_flow) {
    const Entry elsewhere = make_entry("198.18.0.2:1", kService, kSecond, 9);
    const ClashReport report = find_clashes(
        log_of({{kNew, elsewhere}, {kNew, kWinner}, {kNew, flow("198.18.9.3:53", kClient)}}));
    BOOST_TEST(report.clashes.empty());
    BOOST_REQUIRE_EQUAL(report.late_answers.size(), 1U);
    BOOST_TEST(!report.late_answers[0].clash);
    BOOST_REQUIRE(report.late_answers[0].known);
    BOOST_TEST(report.late_answers[0].known->id == kWinner.id);
}

BOOST_AUTO_TEST_CASE(a_backends_other_flows_are_no_late_answers) {
    const ClashReport report =
        find_clashes(log_of({{kNew, kWinner},
                             {kDestroy, kHidden},
                             {kNew, flow("198.18.9.3:53", "198.18.0.1:40001", 51)},
                             {kNew, flow("198.18.9.3:999", kClient, 52)},
                             {kNew, flow("198.18.9.77:53", kClient, 53)}}));
    BOOST_TEST(report.late_answers.empty());
}

BOOST_AUTO_TEST_CASE(the_same_tuple_in_another_zone_is_another_flow) {
    Entry other = kWinner;
    other.zone = 3;
    const ClashReport report = find_clashes(log_of({{kNew, other}, {kDestroy, kHidden}}));
    BOOST_REQUIRE_EQUAL(report.clashes.size(), 1U);
    BOOST_TEST(!report.clashes[0].winner);
}

BOOST_AUTO_TEST_CASE(a_tuple_that_clashes_again_is_a_clash_of_its_own) {
    Entry again = kHidden;
    again.id = 77;
    const Entry winner_again = make_entry(kClient, kService, kFirst, 76);
    const ClashReport report = find_clashes(log_of({{kNew, kWinner},
                                                    {kDestroy, kHidden},
                                                    {kNew, flow("198.18.9.3:53", kClient, 60)},
                                                    {kNew, winner_again},
                                                    {kDestroy, again},
                                                    {kNew, flow("198.18.9.3:53", kClient, 61)}}));
    BOOST_REQUIRE_EQUAL(report.clashes.size(), 2U);
    BOOST_TEST(report.clashes[1].winner->id == 76U);
    BOOST_REQUIRE_EQUAL(report.late_answers.size(), 2U);
    BOOST_TEST((report.late_answers[0].clash == std::optional<std::size_t>(0)));
    BOOST_TEST((report.late_answers[1].clash == std::optional<std::size_t>(1)));
}

BOOST_AUTO_TEST_CASE(overruns_of_the_log_are_handed_on) {
    EventLog log = log_of({{kDestroy, kHidden}});
    log.overruns = 4;
    const ClashReport report = find_clashes(log);
    BOOST_TEST(report.overruns == 4U);
    BOOST_REQUIRE_EQUAL(report.clashes.size(), 1U);
    BOOST_TEST(!report.clashes[0].winner);
}
