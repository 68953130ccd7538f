#include "harness/netfilter/clashes.h"

#include <fmt/format.h>

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

namespace {

// Reports of a tracker, as words.
struct Told {
    std::vector<std::string> words;

    ClashSink sink() {
        const auto about = [this](const char* what) {
            return [this, what](const Clash& clash) {
                words.push_back(fmt::format("{} {} {}", what, clash.number, name(clash.fate)));
            };
        };
        return {.found = about("found"),
                .settled = about("settled"),
                .destroyed = about("destroyed"),
                .late_answer = [this](const LateAnswer& late) {
                    words.push_back(fmt::format("late {} of {}", late.number,
                                                late.clash ? std::to_string(*late.clash) : "?"));
                }};
    }
};

std::vector<std::string> told(const std::vector<std::pair<EventKind, Entry>>& events) {
    Told listener;
    ClashTracker tracker(listener.sink());
    for (const Event& event : log_of(events).events) {
        tracker.take(event);
    }
    return listener.words;
}

// The n-th of many clashes with tuples of its own.
std::pair<Entry, Entry> pair_of_entries(unsigned n) {
    const std::string client = fmt::format("198.18.{}.{}:4000", n / 250, n % 250);
    return {make_entry(client, kService, kFirst, 2 * n + 1),
            make_entry(client, kService, kSecond, 2 * n + 2, kHiddenBits)};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_clash_is_told_when_it_is_found_settled_and_gone) {
    const std::vector<std::string> expected{"found 0 open", "settled 0 answered",
                                            "destroyed 0 answered"};
    BOOST_TEST(told({{kNew, kWinner},
                     {kUpdate, answered(kHidden)},
                     {kUpdate, answered(kHidden)},
                     {kDestroy, answered(kHidden)}}) == expected,
               boost::test_tools::per_element());
    const std::vector<std::string> unanswered{"found 0 open", "settled 0 unanswered",
                                              "destroyed 0 unanswered"};
    BOOST_TEST(told({{kNew, kWinner}, {kUpdate, kHidden}, {kDestroy, kHidden}}) == unanswered,
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_late_answer_is_told_again_when_its_clash_is_found_after_it) {
    const Entry elsewhere = make_entry("198.18.0.2:1", kService, kSecond, 9);
    const std::vector<std::string> expected{"late 0 of ?", "found 0 open", "settled 0 unanswered",
                                            "destroyed 0 unanswered", "late 0 of 0"};
    BOOST_TEST(told({{kNew, elsewhere},
                     {kNew, kWinner},
                     {kNew, flow("198.18.9.3:53", kClient)},
                     {kDestroy, kHidden}}) == expected,
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_answer_before_the_winner_is_not_for_its_clash) {
    const auto words =
        told({{kNew, flow("198.18.9.3:53", kClient)}, {kNew, kWinner}, {kDestroy, kHidden}});
    BOOST_TEST(words.size() == 3U);
    BOOST_TEST(words.back() == "destroyed 0 unanswered");
}

BOOST_AUTO_TEST_CASE(protocols_that_cannot_clash_are_passed_over) {
    Entry tcp = kHidden;
    tcp.original.protocol = tcp.reply.protocol = IPPROTO_TCP;
    BOOST_TEST(told({{kDestroy, tcp}}).empty());
    Entry gre = kHidden;
    gre.original.protocol = gre.reply.protocol = IPPROTO_GRE;
    BOOST_TEST(told({{kDestroy, gre}}).size() == 3U);
}

BOOST_AUTO_TEST_CASE(counts_stay_right_when_clashes_are_forgotten) {
    Told listener;
    ClashTracker tracker(listener.sink(), {.flows = 64, .clashes = 4});
    constexpr unsigned kMany = 40;
    std::vector<std::pair<EventKind, Entry>> events;
    for (unsigned n = 0; n < kMany; ++n) {
        const auto [winner, hidden] = pair_of_entries(n);
        events.emplace_back(kNew, winner);
        events.emplace_back(kUpdate, n % 2 == 0 ? answered(hidden) : hidden);
    }
    for (unsigned n = 0; n < kMany; ++n) {
        const Entry hidden = pair_of_entries(n).second;
        events.emplace_back(kDestroy, n % 2 == 0 ? answered(hidden) : hidden);
    }
    for (const Event& event : log_of(events).events) {
        tracker.take(event);
    }
    const ClashCounts expected{.hidden = kMany, .answered = kMany / 2, .unanswered = kMany / 2};
    BOOST_TEST((tracker.counts() == expected));
}

BOOST_AUTO_TEST_CASE(a_winner_is_unknown_once_its_flow_is_forgotten) {
    ClashTracker tracker({}, {.flows = 8});
    std::vector<std::pair<EventKind, Entry>> events;
    for (unsigned n = 0; n < 20; ++n) {
        events.emplace_back(kNew, pair_of_entries(n).first);
    }
    events.emplace_back(kDestroy, pair_of_entries(3).second);
    events.emplace_back(kDestroy, pair_of_entries(19).second);
    for (const Event& event : log_of(events).events) {
        tracker.take(event);
    }
    BOOST_TEST(tracker.counts().hidden == 2U);
    BOOST_TEST(tracker.counts().without_winner == 1U);
}
