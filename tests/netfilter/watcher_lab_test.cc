#include <boost/test/unit_test.hpp>
#include <map>
#include <tuple>

#include "harness/netfilter/dump.h"
#include "harness/netfilter/watcher.h"
#include "tests/netfilter/lab_namespace.h"
#include "tests/netfilter/table_batch.h"

using namespace pathproof;
using namespace pathproof::netfilter;
using namespace std::chrono_literals;

namespace {

using Identity = std::tuple<std::uint32_t, Tuple, Tuple, std::uint16_t>;
Identity identity(const Entry& entry) {
    return {entry.id, entry.original, entry.reply, entry.zone};
}

// Events and gaps that a watcher gave, and the entries that remain when all events, missed ones
// too, are applied in turn.
struct Seen {
    std::vector<Event> events;
    std::vector<Gap> gaps;
    std::map<Identity, Entry> alive;

    WatchSink sink() {
        return {.event = [this](const Event& event) { take(event); },
                .gap = [this](const Gap& gap) { gaps.push_back(gap); }};
    }
    void take(const Event& event) {
        events.push_back(event);
        if (event.kind == EventKind::kDestroy) {
            alive.erase(identity(event.entry));
        } else {
            alive[identity(event.entry)] = event.entry;
        }
    }
};

std::unique_ptr<Watcher> watch(const WatchOptions& options) {
    auto started = Watcher::start(options);
    BOOST_REQUIRE_MESSAGE(started, started.error().message);
    return std::move(*started);
}

// Polls until nothing comes any more.
void poll_all(Watcher& watcher, const WatchSink& sink, const Seen& seen) {
    for (int quiet = 0; quiet < 3;) {
        const std::size_t before = seen.events.size() + seen.gaps.size();
        const auto polled = watcher.poll(100ms, sink);
        BOOST_REQUIRE_MESSAGE(polled, polled.error().message);
        quiet = before == seen.events.size() + seen.gaps.size() ? quiet + 1 : 0;
    }
}

std::map<Identity, Entry> table_of(const lab::Namespace& space) {
    std::map<Identity, Entry> table;
    const auto entries = dump_all(space.name());
    BOOST_REQUIRE_MESSAGE(entries, entries.error().message);
    for (const Entry& entry : *entries) {
        table[identity(entry)] = entry;
    }
    return table;
}

void require_state_is_table(const Watcher& watcher, const lab::Namespace& space) {
    const auto table = table_of(space);
    BOOST_REQUIRE_EQUAL(watcher.flows(), table.size());
    std::size_t found = 0;
    watcher.each_flow([&](const Entry& entry) {
        const auto same = table.find(identity(entry));
        BOOST_REQUIRE(same != table.end());
        BOOST_REQUIRE_EQUAL(entry.status, same->second.status);
        BOOST_REQUIRE_EQUAL(entry.mark, same->second.mark);
        BOOST_REQUIRE_EQUAL(entry.protocol_state, same->second.protocol_state);
        ++found;
    });
    BOOST_REQUIRE_EQUAL(found, table.size());
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_gap_is_closed_by_the_missed_events_and_the_state_is_right_again) {
    const lab::Namespace space("gap");
    // The sysctl's value 1 gives events to flows that are there before, too.
    space.run("sysctl -qw net.netfilter.nf_conntrack_events=1");
    lab::insert_mixed(space.name(), 500);
    // The consumer pauses, the reader stops when it has read 256 KiB, and the kernel keeps a few
    // events only.
    const auto watcher =
        watch({.netns = space.name(), .receive_buffer_bytes = 4096, .backlog_bytes = 1});
    BOOST_TEST(watcher->flows() == 500U);
    Seen seen;
    seen.alive = table_of(space);
    const WatchSink sink = seen.sink();
    lab::insert_mixed(space.name(), 100, 1000);
    poll_all(*watcher, sink, seen);
    lab::insert_mixed(space.name(), 6000, 2000);
    lab::mark_mixed(space.name(), 50, 0, 77);
    space.run("conntrack -D -p gre");
    poll_all(*watcher, sink, seen);

    BOOST_TEST(watcher->totals().overruns > 0U);
    BOOST_REQUIRE(!seen.gaps.empty());
    BOOST_TEST((seen.gaps.back().stage == Gap::Stage::kReconciled));
    for (const Gap& gap : seen.gaps) {
        BOOST_TEST(gap.from_ns > 0);
        BOOST_TEST(gap.from_ns <= gap.until_ns);
    }
    BOOST_TEST(watcher->totals().missed.created > 0U);
    BOOST_TEST(watcher->totals().missed.destroyed > 0U);
    BOOST_TEST(watcher->totals().missed.updated > 0U);
    BOOST_TEST(watcher->totals().gaps_open == 0U);
    require_state_is_table(*watcher, space);
    // A reader who followed the printed events has the same state.
    const auto table = table_of(space);
    BOOST_TEST(seen.alive.size() == table.size());
    for (const auto& [key, entry] : table) {
        BOOST_REQUIRE(seen.alive.contains(key));
        BOOST_REQUIRE_EQUAL(seen.alive[key].mark, entry.mark);
    }

    // Events after the gap are reported as before.
    const std::size_t before = seen.events.size();
    space.load({"-A -t 600 -p udp -s 198.18.0.3 -d 198.18.0.2 --sport 1 --dport 53"});
    const auto finished = watcher->finish(sink);
    BOOST_REQUIRE_MESSAGE(finished, finished.error().message);
    BOOST_REQUIRE_EQUAL(seen.events.size(), before + 1);
    BOOST_TEST(!seen.events.back().missed);
    require_state_is_table(*watcher, space);
}

BOOST_AUTO_TEST_CASE(without_a_gap_events_are_told_and_the_state_follows) {
    const lab::Namespace space("follow");
    lab::insert_mixed(space.name(), 100);
    const auto watcher = watch({.netns = space.name(), .kinds = {.updated = false}});
    Seen seen;
    lab::insert_mixed(space.name(), 900, 100);
    lab::mark_mixed(space.name(), 50, 0, 5);
    space.run("conntrack -D -p tcp -f ipv6");
    const auto finished = watcher->finish(seen.sink());
    BOOST_REQUIRE_MESSAGE(finished, finished.error().message);
    BOOST_TEST(seen.gaps.empty());
    BOOST_TEST(watcher->totals().shown.created == 900U);
    BOOST_TEST(watcher->totals().shown.updated == 0U);  // not asked for
    BOOST_TEST(watcher->totals().shown.destroyed > 0U);
    BOOST_TEST(watcher->totals().shown.total() == seen.events.size());
}

BOOST_AUTO_TEST_CASE(a_filter_by_state_knows_what_an_event_leaves_out) {
    const lab::Namespace space("state");
    space.load(
        {"-A -t 600 -p tcp -s 198.18.0.1 -d 198.18.0.2 --sport 1 --dport 80 --state ESTABLISHED",
         "-A -t 600 -p tcp -s 198.18.0.1 -d 198.18.0.2 --sport 2 --dport 80 --state SYN_SENT"});
    space.run("sysctl -qw net.netfilter.nf_conntrack_events=1");
    const auto watcher =
        watch({.netns = space.name(), .filter = parse_filter({"state=ESTABLISHED"}).value()});
    Seen seen;
    space.load(
        {"-A -t 600 -p tcp -s 198.18.0.1 -d 198.18.0.2 --sport 3 --dport 80 --state ESTABLISHED",
         "-A -t 600 -p tcp -s 198.18.0.1 -d 198.18.0.2 --sport 4 --dport 80 --state SYN_SENT"});
    space.run("conntrack -D -p tcp --sport 3");
    space.run("conntrack -D -p tcp --sport 4");
    BOOST_REQUIRE(watcher->finish(seen.sink()));
    BOOST_REQUIRE_EQUAL(seen.events.size(), 2U);
    BOOST_TEST((seen.events[0].kind == EventKind::kNew));
    BOOST_TEST((seen.events[1].kind == EventKind::kDestroy));
    BOOST_TEST(seen.events[1].entry.original.source.port == 3U);
}

BOOST_AUTO_TEST_CASE(without_state_a_gap_stays_open_and_says_so) {
    const lab::Namespace space("open");
    const auto watcher = watch({.netns = space.name(),
                                .receive_buffer_bytes = 4096,
                                .backlog_bytes = 1,
                                .state = WatchOptions::State::kNone});
    Seen seen;
    lab::insert_mixed(space.name(), 6000);
    const WatchSink sink = seen.sink();
    poll_all(*watcher, sink, seen);
    BOOST_REQUIRE(!seen.gaps.empty());
    BOOST_TEST((seen.gaps.front().stage == Gap::Stage::kOpen));
    BOOST_TEST(!seen.gaps.front().problem.empty());
    BOOST_TEST(watcher->totals().gaps_open == watcher->totals().gaps);
    BOOST_TEST(watcher->totals().missed.total() == 0U);
}
