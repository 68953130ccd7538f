#include "harness/netfilter/reconcile.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <random>

#include "tests/netfilter/message_builder.h"

using namespace pathproof;
using namespace pathproof::netfilter;

namespace {

using Missed = Reconciler::Missed;

// An event that a watcher prints; reported and missed ones stand in one list.
struct Row {
    EventKind kind;
    Entry entry;
    bool missed = false;
};

Entry flow(std::uint32_t id, std::uint32_t mark = 0) {
    Entry made = make_entry(fmt::format("198.18.0.{}:{}", 1 + id % 250, 1000 + id),
                            "198.18.9.10:53", "203.0.113.2:53", id);
    made.mark = mark;
    return made;
}

Event event(EventKind kind, const Entry& entry) {
    Event made;
    made.kind = kind;
    made.entry = entry;
    return made;
}

struct Watched {
    Reconciler reconciler;
    std::vector<Row> rows;

    Reconciler::MissedSink sink() {
        return [this](const Missed& missed) { rows.push_back({missed.kind, missed.entry, true}); };
    }
    void tell(EventKind kind, const Entry& entry) {
        reconciler.event(event(kind, entry), sink());
        rows.push_back({kind, entry});
    }
    void read(const std::vector<Entry>& table,
              Reconciler::Table quality = Reconciler::Table::kWhole) {
        reconciler.gap();
        reconciler.begin_table();
        for (const Entry& entry : table) {
            reconciler.in_table(entry);
        }
        reconciler.end_table(quality);
    }
    void settle() { reconciler.settle(sink()); }

    // "NEW 1, DESTROY 2": the missed ones.
    std::string missed() const {
        std::string words;
        for (const Row& row : rows) {
            if (row.missed) {
                words +=
                    fmt::format("{}{} {}", words.empty() ? "" : ", ", name(row.kind), row.entry.id);
            }
        }
        return words;
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(without_a_gap_nothing_is_missed) {
    Watched watched;
    watched.reconciler.initial(flow(1));
    watched.tell(EventKind::kNew, flow(2));
    watched.tell(EventKind::kDestroy, flow(1));
    watched.tell(EventKind::kDestroy, flow(9));  // began before the table was read first
    watched.settle();
    BOOST_TEST(watched.missed() == "");
    BOOST_TEST(watched.reconciler.flows().size() == 1U);
}

BOOST_AUTO_TEST_CASE(what_the_table_shows_and_no_event_explains_is_missed) {
    Watched watched;
    for (const std::uint32_t id : {1U, 2U, 3U}) {
        watched.tell(EventKind::kNew, flow(id));
    }
    watched.read({flow(1), flow(2, 7), flow(4)});
    BOOST_TEST(watched.missed() == "");  // events that follow may explain it yet
    watched.settle();
    BOOST_TEST(watched.missed() == "UPDATE 2, DESTROY 3, NEW 4");
    BOOST_TEST(watched.reconciler.flows().size() == 3U);
    watched.settle();
    BOOST_TEST(watched.missed() == "UPDATE 2, DESTROY 3, NEW 4");
}

BOOST_AUTO_TEST_CASE(events_that_come_before_the_table_was_read_explain_what_it_shows) {
    Watched watched;
    for (const std::uint32_t id : {1U, 2U}) {
        watched.tell(EventKind::kNew, flow(id));
    }
    watched.read({flow(1, 7), flow(3)});
    watched.tell(EventKind::kUpdate, flow(1, 7));
    watched.tell(EventKind::kDestroy, flow(2));
    watched.tell(EventKind::kNew, flow(3));
    watched.settle();
    BOOST_TEST(watched.missed() == "");
    BOOST_TEST(watched.reconciler.flows().size() == 2U);
}

BOOST_AUTO_TEST_CASE(an_event_about_an_unknown_flow_tells_of_its_missed_beginning) {
    Watched watched;
    watched.read({flow(1)});
    watched.tell(EventKind::kDestroy, flow(1));
    watched.tell(EventKind::kUpdate, flow(2));
    watched.tell(EventKind::kDestroy, flow(3));
    watched.settle();
    BOOST_TEST(watched.missed() == "NEW 1, NEW 2, NEW 3");
    BOOST_TEST(watched.reconciler.flows().size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_later_flow_of_the_same_id_is_told_from_the_one_before) {
    Watched watched;
    Entry answered = flow(1);
    answered.status |= status::kSeenReply;
    watched.tell(EventKind::kNew, answered);
    watched.read({flow(1)});
    watched.settle();
    BOOST_TEST(watched.missed() == "DESTROY 1, NEW 1");
    BOOST_TEST((watched.rows[1].entry.status & status::kSeenReply) != 0U);
    BOOST_TEST((watched.rows[2].entry.status & status::kSeenReply) == 0U);

    Watched by_tuple;
    by_tuple.tell(EventKind::kNew, flow(5));
    Entry other = flow(5);
    other.reply.source.address = frame::parse_ip("203.0.113.3").value();
    by_tuple.read({other});
    by_tuple.settle();
    BOOST_TEST(by_tuple.rows.size() == 3U);
    BOOST_TEST(by_tuple.reconciler.flows().find(other) != nullptr);
    BOOST_TEST(by_tuple.reconciler.flows().find(flow(5)) == nullptr);
}

BOOST_AUTO_TEST_CASE(flows_of_one_id_are_told_apart_by_their_tuples) {
    Watched watched;
    Entry other = flow(1);
    other.original.source.port = 9;
    watched.tell(EventKind::kNew, flow(1));
    watched.tell(EventKind::kNew, other);
    watched.read({other});
    watched.settle();
    BOOST_TEST(watched.missed() == "DESTROY 1");
    BOOST_TEST(watched.reconciler.flows().find(other) != nullptr);
}

BOOST_AUTO_TEST_CASE(flows_of_one_id_and_tuple_in_two_zones_are_two) {
    Watched watched;
    Entry other = flow(1);
    other.zone = 4;
    watched.tell(EventKind::kNew, flow(1));
    watched.tell(EventKind::kNew, other);
    BOOST_TEST(watched.reconciler.flows().size() == 2U);
    watched.read({flow(1)});
    watched.settle();
    BOOST_REQUIRE_EQUAL(watched.rows.size(), 3U);
    BOOST_TEST(watched.rows[2].entry.zone == 4U);
}

// The table is read after listening began: an entry can be seen there before its event is read.
BOOST_AUTO_TEST_CASE(a_late_beginning_ends_no_flow_until_watching_has_begun) {
    Watched watched;
    watched.reconciler.initial(flow(1));
    watched.reconciler.initial(flow(2));
    watched.reconciler.gap();
    watched.tell(EventKind::kNew, flow(1));
    BOOST_TEST(watched.missed() == "");
    watched.reconciler.begin();
    watched.tell(EventKind::kNew, flow(2));
    BOOST_TEST(watched.missed() == "DESTROY 2");
}

BOOST_AUTO_TEST_CASE(a_table_that_may_lack_entries_ends_no_flow) {
    Watched watched;
    watched.tell(EventKind::kNew, flow(1));
    watched.read({flow(2)}, Reconciler::Table::kMayLackEntries);
    watched.settle();
    BOOST_TEST(watched.missed() == "NEW 2");
}

BOOST_AUTO_TEST_CASE(hidden_entries_of_clashes_are_in_no_table_and_not_missed) {
    Watched watched;
    Entry hidden = flow(1);
    hidden.status |= status::kNatClash;
    watched.read({});
    watched.tell(EventKind::kUpdate, hidden);
    watched.tell(EventKind::kDestroy, hidden);
    watched.settle();
    BOOST_TEST(watched.missed() == "");
    BOOST_TEST(watched.reconciler.flows().size() == 0U);
}

BOOST_AUTO_TEST_CASE(ends_of_flows_that_were_there_before_are_marked) {
    Watched watched;
    watched.reconciler.initial(flow(1));
    watched.tell(EventKind::kNew, flow(2));
    watched.read({});
    std::map<std::uint32_t, bool> unannounced;
    watched.reconciler.settle(
        [&](const Missed& missed) { unannounced[missed.entry.id] = missed.unannounced; });
    BOOST_TEST((unannounced == std::map<std::uint32_t, bool>{{1, true}, {2, false}}));
}

namespace {

// A table that changes while it is read, as the kernel's does, and the events about it.
class World {
  public:
    explicit World(unsigned seed) : random_(seed) {}

    const std::map<std::uint32_t, Entry>& table() const { return table_; }

    Event act() {
        const std::uint32_t id = 1 + some(40);
        const auto known = table_.find(id);
        if (known == table_.end()) {
            Entry entry = flow(id, some(3));
            entry.started_ns = ++now_ << 21;
            table_[id] = entry;
            return told(EventKind::kNew, entry);
        }
        Entry& entry = known->second;
        if (some(2) == 0) {
            const Event ended = told(EventKind::kDestroy, entry);
            table_.erase(known);
            return ended;
        }
        entry.mark = some(3);
        entry.status |= some(2) == 0 ? status::kSeenReply : status::kAssured;
        return told(EventKind::kUpdate, entry);
    }

    unsigned some(unsigned limit) { return static_cast<unsigned>(random_() % limit); }

  private:
    // Only a dump and the end of a flow have time stamps.
    static Event told(EventKind kind, const Entry& entry) {
        Event made = event(kind, entry);
        made.entry.started_ns.reset();
        return made;
    }

    std::mt19937 random_;
    std::map<std::uint32_t, Entry> table_;
    std::uint64_t now_ = 1;
};

// Reads the table from its begin to its end while the world goes on; its events wait in the stream.
void read_while_it_changes(Watched& watched, World& world, std::vector<Event>& stream) {
    watched.reconciler.gap();
    watched.reconciler.begin_table();
    for (std::uint32_t id = 0; id <= 40; ++id) {
        for (unsigned acts = world.some(3); acts > 0; --acts) {
            stream.push_back(world.act());
        }
        if (const auto found = world.table().find(id); found != world.table().end()) {
            watched.reconciler.in_table(found->second);
        }
    }
    watched.reconciler.end_table(Reconciler::Table::kWhole);
}

void deliver(Watched& watched, std::vector<Event>& stream) {
    for (const Event& told : stream) {
        watched.tell(told.kind, told.entry);
    }
    stream.clear();
}

// Told and missed events together make a life of each flow: it begins, changes and ends once. Gives
// the flows that are left.
std::map<std::uint32_t, Entry> lives(const std::vector<Row>& rows) {
    std::map<std::uint32_t, Entry> alive;
    for (const Row& row : rows) {
        const bool known = alive.contains(row.entry.id);
        BOOST_REQUIRE_MESSAGE(known == (row.kind != EventKind::kNew),
                              name(row.kind) << (row.missed ? " (missed)" : "") << " of "
                                             << (known ? "a known" : "an unknown") << " flow "
                                             << row.entry.id);
        if (row.kind == EventKind::kDestroy) {
            alive.erase(row.entry.id);
        } else {
            alive[row.entry.id] = row.entry;
        }
    }
    return alive;
}

void check_equal(Watched& watched, const World& world) {
    const auto alive = lives(watched.rows);
    BOOST_REQUIRE_EQUAL(alive.size(), world.table().size());
    BOOST_REQUIRE_EQUAL(watched.reconciler.flows().size(), world.table().size());
    for (const auto& [id, entry] : world.table()) {
        BOOST_REQUIRE(alive.contains(id));
        const Flow* kept = watched.reconciler.flows().find(entry);
        BOOST_REQUIRE(kept != nullptr);
        BOOST_REQUIRE_EQUAL(kept->mark, entry.mark);
        BOOST_REQUIRE_EQUAL(kept->status, entry.status);
        BOOST_REQUIRE_EQUAL(alive.at(id).mark, entry.mark);
        BOOST_REQUIRE_EQUAL(alive.at(id).status, entry.status);
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(after_any_gaps_the_state_equals_the_table_and_every_flow_has_one_life) {
    for (unsigned seed = 0; seed < 300; ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            World world(seed);
            Watched watched;
            std::vector<Event> stream;
            for (int round = 0; round < 6; ++round) {
                for (unsigned i = world.some(60); i > 0; --i) {
                    stream.push_back(world.act());
                }
                deliver(watched, stream);
                for (unsigned lost = world.some(60); lost > 0; --lost) {
                    (void)world.act();
                }
                // More is told, and more is lost, before the table is read.
                watched.reconciler.gap();
                for (unsigned gaps = world.some(3); gaps > 0; --gaps) {
                    for (unsigned i = world.some(20); i > 0; --i) {
                        stream.push_back(world.act());
                    }
                    deliver(watched, stream);
                    for (unsigned lost = world.some(20); lost > 0; --lost) {
                        (void)world.act();
                    }
                }
                read_while_it_changes(watched, world, stream);
                // A second gap before the first is settled: the stream between the two is told.
                if (world.some(3) == 0) {
                    deliver(watched, stream);
                    for (unsigned lost = world.some(30); lost > 0; --lost) {
                        (void)world.act();
                    }
                    read_while_it_changes(watched, world, stream);
                }
                deliver(watched, stream);
                watched.settle();
                check_equal(watched, world);
            }
        }
    }
}
