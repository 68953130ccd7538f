#include "harness/monitor/flow_story.h"

#include <netinet/in.h>

#include <boost/test/unit_test.hpp>
#include <random>

#include "harness/netfilter/lookup.h"

using namespace pathproof;
using namespace pathproof::monitor;
using netfilter::Entry;
using netfilter::Event;
using netfilter::EventKind;
using netfilter::EventsOf;
using netfilter::Tuple;

namespace {

Tuple flow(const char* text) {
    return netfilter::parse_flow({text}).value();
}

const Tuple kAsked = flow("udp 10.1.0.2:4000 10.96.0.10:53");

// DNATed to 10.2.0.2 and masqueraded.
Entry entry(std::uint32_t timeout_s = 30, std::uint32_t status = netfilter::status::kConfirmed) {
    Entry made{.id = 7, .original = kAsked, .status = status};
    made.reply = flow("udp 10.2.0.2:53 10.2.0.1:4000");
    made.timeout_s = timeout_s;
    return made;
}

Entry stranger(std::uint16_t port) {
    Entry made{.id = port, .original = kAsked, .status = netfilter::status::kConfirmed};
    made.original.source.port = port;
    made.reply = turned(made.original);
    return made;
}

struct Told {
    std::vector<FlowStep> steps;
    std::unique_ptr<FlowStory> story;

    explicit Told(Tuple asked = kAsked, EventsOf events = EventsOf::kNewFlows) {
        story = std::make_unique<FlowStory>(
            asked, events, [this](const FlowStep& step) { steps.push_back(step); });
    }

    void look(double at_s, std::optional<Entry> found = std::nullopt,
              std::vector<std::pair<std::string, std::uint64_t>> counters = {},
              netfilter::TableSize table = {.entries = 10, .maximum = 1000}) {
        story->take(FlowLook{.time_ns = ns(at_s),
                             .entry = std::move(found),
                             .counters = {.counters = std::move(counters)},
                             .table = table});
    }
    void event(double at_s, EventKind kind, const Entry& about, std::uint32_t port = 0) {
        story->take(Event{.kind = kind, .time_ns = ns(at_s), .entry = about, .cause_port = port});
    }
    void packet(double at_s, bool back = false, bool leaving = false, std::string flags = "") {
        story->take(FlowPacket{ns(at_s), back, leaving, std::move(flags)});
    }
    FlowConclusion end(const std::vector<drops::DropCount>* drops = nullptr) const {
        return story->conclude(drops);
    }

    static std::int64_t ns(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }
};

bool has(const FlowConclusion& conclusion, const char* words) {
    return conclusion.text.find(words) != std::string::npos;
}

// An entry of 30 s that is seen twice and whose end is heard.
Told ended_early(std::uint32_t port = 0, std::uint32_t status = netfilter::status::kConfirmed) {
    Told told;
    told.look(0);
    told.event(1, EventKind::kNew, entry(30, status));
    told.look(1.1, entry(30, status));
    told.event(2, EventKind::kDestroy, entry(30, status), port);
    return told;
}

BOOST_AUTO_TEST_SUITE(flow_stories)

BOOST_AUTO_TEST_CASE(an_entry_that_nobody_renews_expires) {
    Told told;
    told.look(0);
    told.packet(1);
    told.event(1, EventKind::kNew, entry(3));
    told.look(1.1, entry(2));
    told.event(4.2, EventKind::kDestroy, entry(3));
    BOOST_TEST(!told.story->over());
    told.look(4.3);
    BOOST_TEST(told.story->over());
    const FlowConclusion conclusion = told.end();
    BOOST_TEST((conclusion.answer == FlowAnswer::kExpired));
    BOOST_TEST(has(conclusion, "3.2 s before"));
    BOOST_TEST(told.steps.size() == 3u);
    BOOST_TEST(told.steps[1].text == "entry made");
    BOOST_TEST(told.steps[1].entry->reply.source.port == 53);
}

BOOST_AUTO_TEST_CASE(an_end_that_nobody_told_of_is_found_by_looking_twice) {
    Told told;
    told.look(0, entry(2));
    told.look(1, entry(1));
    told.look(2.2);
    BOOST_TEST(!told.story->over());
    told.look(2.3);
    BOOST_TEST(told.story->over());
    BOOST_TEST((told.end().answer == FlowAnswer::kExpired));
    BOOST_TEST(has(told.end(), "no packet of the flow was seen"));
}

BOOST_AUTO_TEST_CASE(a_netlink_request_is_named_with_what_went_by_it) {
    Told told = ended_early(4711);
    told.look(2.1);
    BOOST_TEST((told.end().answer == FlowAnswer::kDeleted));
    BOOST_TEST(has(told.end(), "port 4711 removed the entry, 29 s before its time-out"));
    BOOST_TEST(has(told.end(), "no other flow was heard to go with it"));

    Told flush = ended_early(4711);
    for (std::uint16_t port = 1; port <= 3; ++port) {
        flush.event(2.01, EventKind::kDestroy, stranger(port), 4711);
    }
    flush.event(2.02, EventKind::kDestroy, stranger(9), 4712);  // somebody else's request
    flush.event(2.03, EventKind::kDestroy, stranger(10));       // a timer
    flush.look(2.1);
    BOOST_TEST(has(flush.end(), "3 other flows went by the same port"));

    Told last;  // of a flush
    last.look(0, entry());
    last.event(1, EventKind::kDestroy, stranger(8), 4711);  // an earlier request
    last.event(2.5, EventKind::kDestroy, stranger(1), 4711);
    last.event(2.6, EventKind::kDestroy, stranger(2), 4711);
    last.event(2.7, EventKind::kDestroy, entry(), 4711);
    last.event(9, EventKind::kDestroy, stranger(3), 4711);  // a later one
    last.look(9.1);
    BOOST_TEST(has(last.end(), "2 other flows went by the same port"));
}

BOOST_AUTO_TEST_CASE(early_drop_is_named_with_the_flow_that_took_the_room) {
    const netfilter::TableSize full{.entries = 1000, .maximum = 1000};
    Told told = ended_early();
    told.event(2.01, EventKind::kNew, stranger(9));
    told.look(2.1, std::nullopt, {{"early_drop", 1}}, full);
    FlowConclusion conclusion = told.end();
    BOOST_TEST((conclusion.answer == FlowAnswer::kEvicted));
    BOOST_TEST(has(conclusion, "1000 of 1000 entries, early_drop rose by 1"));
    BOOST_TEST(has(conclusion, "The flow that began then: udp"));
    BOOST_TEST(conclusion.by_one_of.size() == 1u);

    Told many = ended_early();
    many.event(2.01, EventKind::kNew, stranger(9));
    many.event(2.02, EventKind::kNew, stranger(10));
    many.look(2.1, std::nullopt, {{"early_drop", 2}}, full);
    BOOST_TEST(has(many.end(), " 2 flows began then."));
}

BOOST_AUTO_TEST_CASE(early_drop_takes_no_flow_that_is_assured) {
    Told told = ended_early(0, netfilter::status::kConfirmed | netfilter::status::kAssured);
    told.look(2.1, std::nullopt, {{"early_drop", 1}});
    BOOST_TEST((told.end().answer == FlowAnswer::kEndNotTold));
    BOOST_TEST(has(told.end(), "early_drop rose by 1, and takes no flow that is ASSURED"));
}

BOOST_AUTO_TEST_CASE(early_drop_that_rose_before_took_others) {
    Told told;
    told.look(0);
    told.event(1, EventKind::kNew, entry());
    told.look(1.1, entry(), {{"early_drop", 5}});
    told.event(2, EventKind::kDestroy, entry());
    told.look(2.1, std::nullopt, {{"early_drop", 5}});
    BOOST_TEST((told.end().answer == FlowAnswer::kEndNotTold));
}

BOOST_AUTO_TEST_CASE(a_reset_in_reply_ends_a_connection_that_was_never_answered_otherwise) {
    const Tuple asked = flow("tcp 10.1.0.2:5000 10.2.0.2:81");
    Entry opened{.id = 1, .original = asked, .status = netfilter::status::kConfirmed};
    opened.reply = turned(asked);
    opened.timeout_s = 120;
    Told told(asked);
    told.look(0);
    told.packet(1, false, false, "SYN");
    told.event(1, EventKind::kNew, opened);
    told.event(1.001, EventKind::kDestroy, opened);
    told.packet(1.002, true, true, "RST");  // its socket is read later
    told.look(1.1);
    BOOST_TEST((told.end().answer == FlowAnswer::kReset));

    Told old(asked);
    old.look(0);
    old.event(1, EventKind::kNew, opened);
    old.packet(1.1, true, true, "RST");
    old.look(1.2, opened);
    old.event(9, EventKind::kDestroy, opened);
    old.look(9.1);
    BOOST_TEST((old.end().answer == FlowAnswer::kEndNotTold));
}

BOOST_AUTO_TEST_CASE(the_next_connection_may_take_its_place) {
    Told told = ended_early();
    told.event(2.001, EventKind::kNew, entry());
    BOOST_TEST(told.story->over());
    told.look(2.1, entry());
    BOOST_TEST((told.end().answer == FlowAnswer::kReopened));
}

BOOST_AUTO_TEST_CASE(what_the_kernel_does_not_tell_is_said) {
    Told heard = ended_early();
    heard.look(2.1);
    BOOST_TEST((heard.end().answer == FlowAnswer::kEndNotTold));
    BOOST_TEST(has(heard.end(), "29 s before its time-out"));
    BOOST_TEST(!has(heard.end(), "no event"));
    BOOST_TEST(!has(heard.end(), "masquerade"));
    Told behind = ended_early(0, netfilter::status::kConfirmed | netfilter::status::kSrcNat);
    behind.look(2.1);
    BOOST_TEST(has(behind.end(), "masquerade"));
    BOOST_TEST(!has(heard.end(), "95 %"));

    Told older;
    older.look(0, entry(30), {}, {.entries = 990, .maximum = 1000});
    older.look(1, std::nullopt, {}, {.entries = 990, .maximum = 1000});
    older.look(1.1, std::nullopt, {}, {.entries = 990, .maximum = 1000});
    BOOST_TEST(has(older.end(), "the flow began before anybody listened"));
    BOOST_TEST(has(older.end(), "990 of 1000 entries: above 95 %"));
}

BOOST_AUTO_TEST_CASE(a_flow_is_known_by_any_of_its_packets) {
    for (const char* seen : {"udp 10.1.0.2:4000 10.96.0.10:53", "udp 10.96.0.10:53 10.1.0.2:4000",
                             "udp 10.2.0.1:4000 10.2.0.2:53", "udp 10.2.0.2:53 10.2.0.1:4000"}) {
        Told told(flow(seen));
        told.look(0);
        told.event(1, EventKind::kNew, entry());
        BOOST_TEST((told.end().answer == FlowAnswer::kStillThere), seen);
    }
    Told other(flow("udp 10.1.0.2:4001 10.96.0.10:53"));
    other.look(0);
    other.event(1, EventKind::kNew, entry());
    BOOST_TEST((other.end().answer == FlowAnswer::kNothingSeen));
}

BOOST_AUTO_TEST_CASE(changes_of_a_flow_are_steps) {
    using namespace netfilter::status;
    Told told;
    told.look(0, entry());
    told.event(1, EventKind::kUpdate, entry(30, kConfirmed | kSeenReply));
    told.event(2, EventKind::kUpdate, entry(120, kConfirmed | kSeenReply | kAssured));
    told.event(3, EventKind::kUpdate, entry(120, kConfirmed | kSeenReply | kAssured));
    BOOST_TEST_REQUIRE(told.steps.size() == 3u);
    BOOST_TEST(told.steps[1].text == "answered");
    BOOST_TEST(told.steps[2].text == "ASSURED");
    BOOST_TEST(has(told.end(), "[ASSURED]"));
}

BOOST_AUTO_TEST_CASE(a_clash_is_told_and_is_not_the_end) {
    Told told;
    told.look(0);
    told.event(1, EventKind::kNew, entry());
    Entry hidden = entry(1, netfilter::status::kConfirmed | netfilter::status::kNatClash);
    hidden.reply.source.address = frame::parse_ip("10.2.0.3").value();
    told.event(1.1, EventKind::kUpdate, hidden);
    told.event(1.2, EventKind::kUpdate, hidden);
    told.event(2.1, EventKind::kDestroy, hidden);
    told.look(2.2, entry());
    BOOST_TEST((told.end().answer == FlowAnswer::kStillThere));
    BOOST_TEST(has(told.end(), "1 of the flow's packets clashed"));
    BOOST_TEST(told.steps.size() == 3u);  // each hidden entry is told of once
}

BOOST_AUTO_TEST_CASE(an_entry_that_is_never_made_has_its_reason) {
    const netfilter::TableSize full{.entries = 1000, .maximum = 1000};
    const auto never =
        [](std::vector<std::pair<std::string, std::uint64_t>> counters, netfilter::TableSize table,
           const std::vector<drops::DropCount>* drops = nullptr, bool passes = false) {
            Told told;
            told.look(0);
            told.packet(1);
            if (passes) {
                told.packet(1, false, true);
            }
            told.look(2, std::nullopt, std::move(counters), table);
            return told.end(drops);
        };
    const FlowConclusion no_room = never({{"drop", 3}}, full);
    BOOST_TEST((no_room.answer == FlowAnswer::kTableFull));
    BOOST_TEST(has(no_room, "1000 of 1000 entries"));
    BOOST_TEST(has(no_room, "3 packets dropped"));
    const FlowConclusion refused = never({{"drop", 2}, {"insert_failed", 2}}, full);
    BOOST_TEST((refused.answer == FlowAnswer::kNotInserted));
    BOOST_TEST((never({{"invalid", 1}}, {}).answer == FlowAnswer::kInvalid));

    const std::vector<drops::DropCount> others{
        {"NETFILTER_DROP", "nft_do_chain+0x3e8", "ip/tcp", drops::FlowState::kNew, 4},
        {"NETFILTER_DROP", "nft_do_chain+0x3e8", "ip/udp", drops::FlowState::kKnown, 4},
        {"NO_SOCKET", "udp_rcv", "ip/udp", drops::FlowState::kUntold, 4}};
    const FlowConclusion nothing = never({}, {}, &others);
    BOOST_TEST((nothing.answer == FlowAnswer::kUntracked));
    BOOST_TEST(has(nothing, "did not leave again"));
    BOOST_TEST(has(never({}, {}, &others, true), "NOTRACK"));
    BOOST_TEST(has(never({}, {}), "could not be read"));

    std::vector<drops::DropCount> ours = others;
    ours.push_back({"NETFILTER_DROP", "nft_do_chain+0x3e8", "ip/udp", drops::FlowState::kNew, 1});
    const FlowConclusion dropped = never({}, {}, &ours);
    BOOST_TEST((dropped.answer == FlowAnswer::kDroppedByRule));
    BOOST_TEST(has(dropped, "dropped 1 packet of this protocol"));
    // A flow that leaves the host was not dropped.
    const FlowConclusion passed = never({}, {}, &ours, true);
    BOOST_TEST((passed.answer == FlowAnswer::kUntracked));
    BOOST_TEST(has(passed, "packets dropped by netfilter +1"));
}

BOOST_AUTO_TEST_CASE(counters_whose_meaning_is_not_known_are_no_reason) {
    for (const char* counter : {"invalid", "insert_failed", "drop"}) {
        Told told;
        told.look(0);
        told.packet(1);
        told.look(2, std::nullopt, {{counter, 2}}, {.entries = 1000, .maximum = 1000});
        const FlowConclusion conclusion = told.story->conclude(nullptr, [] { return false; });
        BOOST_TEST((conclusion.answer == FlowAnswer::kUntracked), counter);
        BOOST_TEST(has(conclusion, "on this kernel is not known"), conclusion.text);
        BOOST_TEST(has(conclusion, fmt::format("{} +2", counter).c_str()), conclusion.text);
    }
}

// The counters are of all flows of the namespace.
BOOST_AUTO_TEST_CASE(counters_that_rose_by_less_than_its_packets_are_no_reason) {
    for (const char* counter : {"invalid", "insert_failed", "drop"}) {
        Told told;
        told.look(0);
        for (int i = 0; i < 3; ++i) {
            told.packet(1);
        }
        told.look(2, std::nullopt, {{counter, 2}}, {.entries = 1000, .maximum = 1000});
        BOOST_TEST((told.end().answer == FlowAnswer::kUntracked), counter);
        BOOST_TEST(has(told.end(), fmt::format("{} +2", counter).c_str()), told.end().text);
        BOOST_TEST(!has(told.end(), "+0"), told.end().text);
    }
}

BOOST_AUTO_TEST_CASE(nothing_is_said_of_a_flow_that_never_was) {
    Told told;
    told.look(0, std::nullopt, {{"drop", 1}});
    told.event(1, EventKind::kNew, stranger(9));
    told.look(2, std::nullopt, {{"drop", 9}, {"invalid", 9}}, {.entries = 10, .maximum = 10});
    BOOST_TEST((told.end().answer == FlowAnswer::kNothingSeen));
    told.story->lost_events();
    BOOST_TEST(has(told.end(), "No packet of this flow"));
}

// Whatever comes in whatever order: a conclusion, and no counter is named that did not rise.
BOOST_AUTO_TEST_CASE(no_sentence_names_a_counter_that_stood_still) {
    std::mt19937 random(5);
    const auto draw = [&](unsigned below) { return static_cast<unsigned>(random() % below); };
    for (int round = 0; round < 10'000; ++round) {
        Told told;
        const netfilter::TableSize table{.entries = draw(3) * 500, .maximum = 1000};
        std::uint64_t early = 0, dropped = 0, invalid = 0, refused = 0;
        double now = 0;
        told.look(now);
        for (unsigned step = draw(12); step > 0; --step) {
            now += 0.1 * draw(20);
            const Entry about = draw(4) == 0 ? stranger(9) : entry(draw(5));
            switch (draw(3)) {
                case 0: told.packet(now, draw(2), draw(2), draw(2) ? "RST" : ""); break;
                case 1:
                    told.event(now, static_cast<EventKind>(draw(3)), about, draw(3) ? 0 : 5);
                    break;
                default:
                    early += draw(2), dropped += draw(2), invalid += draw(2), refused += draw(2);
                    told.look(now, draw(2) ? std::optional(entry(draw(5))) : std::nullopt,
                              {{"early_drop", early},
                               {"drop", dropped + refused},
                               {"invalid", invalid},
                               {"insert_failed", refused}},
                              table);
            }
        }
        const FlowConclusion conclusion = told.end();
        BOOST_REQUIRE(!conclusion.text.empty());
        BOOST_REQUIRE(!has(conclusion, " 0 other") && !has(conclusion, "+0"));
        BOOST_REQUIRE(conclusion.answer != FlowAnswer::kEvicted || early > 0);
        BOOST_REQUIRE(conclusion.answer != FlowAnswer::kInvalid || invalid > 0);
        BOOST_REQUIRE(conclusion.answer != FlowAnswer::kNotInserted || refused > 0);
        BOOST_REQUIRE(conclusion.answer != FlowAnswer::kTableFull ||
                      (dropped > 0 && table.entries >= table.maximum));
        BOOST_REQUIRE(!has(conclusion, "95 %") || table.entries > 950);
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(flow_words)

BOOST_AUTO_TEST_CASE(flows_are_read_as_they_are_written) {
    for (const char* text : {"udp 10.1.0.2:4000 > 10.96.0.10:53", "tcp [2001:db8::5]:1 > [::1]:80",
                             "icmp 10.0.0.5 > 10.0.0.9 id=7"}) {
        BOOST_TEST(flow_text(flow(text)) == text);
    }
    const auto words = netfilter::parse_flow({"icmpv6", "2001:db8::5", "2001:db8::9", "id=65535"});
    BOOST_TEST_REQUIRE(words.has_value());
    BOOST_TEST(words->icmp->type == 128);
}

BOOST_AUTO_TEST_CASE(what_is_no_flow_is_refused) {
    for (const char* text :
         {"", "udp", "udp 1.2.3.4:5", "udp 1.2.3.4 1.2.3.5", "udp 1.2.3.4:5 1.2.3.5:99999",
          "nosuch 1.2.3.4:5 1.2.3.5:6", "gre 1.2.3.4:5 1.2.3.5:6", "icmp 1.2.3.4 1.2.3.5",
          "icmp 1.2.3.4 1.2.3.5 7", "icmp 1.2.3.4 1.2.3.5 id=70000", "udp [::1]:5 1.2.3.4:6",
          "icmp ::1 ::1 id=7", "udp 1.2.3.4:5 1.2.3.5:6 more"}) {
        const auto refused = netfilter::parse_flow({text});
        BOOST_TEST_REQUIRE(!refused.has_value(), text);
        BOOST_TEST((refused.error().code == ErrorCode::kBadInput), text);
    }
}

BOOST_AUTO_TEST_CASE(packets_in_a_row_without_an_answer_are_counted_at_one_device) {
    Told told;
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 4 + round; ++i) {
            for (const std::uint32_t device : {5U, 6U}) {
                told.story->take(
                    FlowPacket{.time_ns = 1, .leaving = device == 6, .device = device});
            }
        }
        told.story->take(FlowPacket{.time_ns = 1, .back = true, .device = 6});
    }
    BOOST_TEST(told.story->longest_silence() == 6U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
