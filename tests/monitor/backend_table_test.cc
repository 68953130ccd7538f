#include "harness/monitor/backend_table.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>

#include "tests/netfilter/message_builder.h"

using namespace pathproof;
using namespace pathproof::monitor;
using netfilter::Entry;
using netfilter::EventKind;
namespace status = netfilter::status;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kStart = 1'000 * kSecond;
constexpr const char* kService = "10.96.0.10:53";

Entry flow(unsigned client, const char* backend, std::uint8_t protocol = IPPROTO_UDP) {
    Entry entry = netfilter::make_entry(fmt::format("198.18.0.1:{}", 10'000 + client), kService,
                                        backend, client + 1);
    entry.original.protocol = entry.reply.protocol = protocol;
    return entry;
}

Entry answered(Entry entry) {
    entry.status |= status::kSeenReply;
    return entry;
}

Refusal refusal_of(const netfilter::Tuple& packet, const char* what = "port unreachable") {
    return {packet, packet.destination.address, what};
}

// The refused packet as the backend saw it.
netfilter::Tuple translated(const Entry& entry) {
    return {entry.reply.destination, entry.reply.source, entry.reply.protocol, std::nullopt};
}

struct Fixture {
    BackendTableOptions options;
    BackendTable table{options};
    std::int64_t now = kStart;

    Fixture() = default;
    explicit Fixture(const BackendTableOptions& given) : options(given) {}

    void tell(EventKind kind, const Entry& entry, std::uint32_t cause_port = 0,
              bool missed = false) {
        table.take({.kind = kind,
                    .time_ns = now,
                    .entry = entry,
                    .cause_port = cause_port,
                    .kernel_time_ns = {},
                    .missed = missed});
    }

    // The only backend of the only service.
    BackendHealth only() const {
        const BackendReport report = table.report(now);
        BOOST_REQUIRE_EQUAL(report.services.size(), 1U);
        BOOST_REQUIRE_EQUAL(report.services[0].backends.size(), 1U);
        return report.services[0].backends[0];
    }
};

constexpr const char* kBackend = "10.1.0.2:53";

}  // namespace

BOOST_FIXTURE_TEST_CASE(answered_flows_make_a_healthy_backend_with_its_answer_time, Fixture) {
    for (unsigned i = 0; i < 30; ++i) {
        tell(EventKind::kNew, flow(i, kBackend));
        now += 5'000'000;
        tell(EventKind::kUpdate, answered(flow(i, kBackend)));
    }
    const BackendHealth health = only();
    BOOST_TEST(health.flows == 30U);
    BOOST_TEST(health.in_table == 30);
    BOOST_TEST(health.judged == 30U);
    BOOST_TEST(health.unanswered == 0U);
    BOOST_TEST(health.median_answer_ns.value_or(0) == 5'000'000);
    BOOST_TEST(health.unanswered_share.high == 0.1);
    BOOST_TEST((health.verdict == BackendVerdict::kHealthy));
}

BOOST_FIXTURE_TEST_CASE(flows_count_as_unanswered_only_after_some_patience, Fixture) {
    for (unsigned i = 0; i < 30; ++i) {
        tell(EventKind::kNew, flow(i, kBackend));
    }
    BOOST_TEST(only().judged == 0U);
    now += options.rules.patience_ns;
    BOOST_TEST(only().unanswered == 30U);
    BOOST_TEST((only().verdict == BackendVerdict::kDead));
    // Late is not never.
    for (unsigned i = 0; i < 30; ++i) {
        tell(EventKind::kUpdate, answered(flow(i, kBackend)));
    }
    BOOST_TEST(only().unanswered == 0U);
    BOOST_TEST(only().judged == 30U);
}

BOOST_FIXTURE_TEST_CASE(slow_answers_make_a_slow_backend, Fixture) {
    for (unsigned i = 0; i < 30; ++i) {
        tell(EventKind::kNew, flow(i, kBackend));
        now += options.rules.slow_after_ns + 1;
        tell(EventKind::kUpdate, answered(flow(i, kBackend)));
    }
    BOOST_TEST((only().verdict == BackendVerdict::kSlow));
}

BOOST_FIXTURE_TEST_CASE(a_flow_destroyed_without_an_answer_stays_counted, Fixture) {
    for (unsigned i = 0; i < 20; ++i) {
        tell(EventKind::kNew, flow(i, kBackend));
        now += kSecond / 100;
        tell(EventKind::kDestroy, flow(i, kBackend));
    }
    BOOST_TEST(only().unanswered == 20U);
    BOOST_TEST(only().in_table == 0);
    BOOST_TEST((only().verdict == BackendVerdict::kDead));
}

BOOST_FIXTURE_TEST_CASE(a_flow_that_somebody_deleted_or_whose_end_was_missed_is_not_judged,
                        Fixture) {
    tell(EventKind::kNew, flow(0, kBackend));
    tell(EventKind::kDestroy, flow(0, kBackend), 4711);
    tell(EventKind::kNew, flow(1, kBackend));
    tell(EventKind::kDestroy, flow(1, kBackend), 0, true);
    BOOST_TEST(only().judged == 0U);
    BOOST_TEST(table.report(now).flows_forgotten == 2U);
}

BOOST_FIXTURE_TEST_CASE(icmp_errors_tell_refusing_from_dead, Fixture) {
    for (unsigned i = 0; i < 30; ++i) {
        const Entry entry = flow(i, kBackend);
        tell(EventKind::kNew, entry);
        // Seen before and after translation: one refusal of one flow.
        table.take(refusal_of(translated(entry)), Sender::kElsewhere, now);
        table.take(refusal_of(entry.original), Sender::kElsewhere, now);
    }
    const BackendHealth health = only();
    BOOST_TEST(health.refused == 30U);
    BOOST_TEST(health.unanswered == 30U);
    BOOST_TEST((health.verdict == BackendVerdict::kRefusing));
    BOOST_TEST(health.last_refusal == "port unreachable from 10.1.0.2");
}

BOOST_FIXTURE_TEST_CASE(a_refusal_that_comes_before_its_flow_is_known_is_kept_for_it, Fixture) {
    for (unsigned i = 0; i < 30; ++i) {
        const Entry entry = flow(i, "10.1.0.3:80", IPPROTO_TCP);
        table.take(refusal_of(translated(entry), "reset"), Sender::kElsewhere, now);
        tell(EventKind::kNew, entry);
        tell(EventKind::kDestroy, entry);
    }
    BOOST_TEST((only().verdict == BackendVerdict::kRefusing));
    BOOST_TEST(only().last_refusal == "reset");
}

BOOST_FIXTURE_TEST_CASE(one_or_two_refusals_among_much_silence_leave_a_backend_dead, Fixture) {
    for (unsigned i = 0; i < 30; ++i) {
        tell(EventKind::kNew, flow(i, kBackend));
        if (i < 2) {
            table.take(refusal_of(translated(flow(i, kBackend))), Sender::kElsewhere, now);
        }
    }
    now += options.rules.patience_ns;
    BOOST_TEST(only().refused == 2U);
    BOOST_TEST((only().verdict == BackendVerdict::kDead));
}

// Errors that NAT lets on under the service's address, and those of this host, are not the endpoint's.
BOOST_FIXTURE_TEST_CASE(only_the_endpoint_refuses_for_itself, Fixture) {
    for (unsigned i = 0; i < 30; ++i) {
        const Entry entry = flow(i, kBackend);
        tell(EventKind::kNew, entry);
        table.take(refusal_of(entry.original, "host unreachable"), Sender::kElsewhere, now);
        const Refusal by_router{translated(entry), *frame::parse_ip("10.0.0.1"),
                                "host unreachable"};
        table.take(by_router, Sender::kHere, now);
    }
    now += options.rules.patience_ns;
    BOOST_TEST(only().refused == 0U);
    BOOST_TEST((only().verdict == BackendVerdict::kDead));
}

// A rule puts answers into another zone: each makes an entry of its own, in whatever order they are told.
BOOST_AUTO_TEST_CASE(an_answer_in_another_zone_is_an_answer) {
    for (const bool answer_first : {false, true}) {
        Fixture fixture({.scope = BackendTableOptions::Scope::kAll});
        for (unsigned i = 0; i < 30; ++i) {
            Entry asked = netfilter::make_entry(fmt::format("198.18.0.1:{}", 10'000 + i), kService,
                                                kService, 2 * i + 1);
            Entry answer =
                netfilter::make_entry(kService, fmt::format("198.18.0.1:{}", 10'000 + i),
                                      fmt::format("198.18.0.1:{}", 10'000 + i), 2 * i + 2);
            asked.zone = 1;
            fixture.tell(EventKind::kNew, answer_first ? answer : asked);
            fixture.tell(EventKind::kNew, answer_first ? asked : answer);
        }
        fixture.now += fixture.options.rules.patience_ns;
        BOOST_TEST(fixture.only().flows == 30U);
        BOOST_TEST(fixture.only().unanswered == 0U);
        BOOST_TEST((fixture.only().verdict == BackendVerdict::kHealthy));
    }
}

BOOST_FIXTURE_TEST_CASE(only_refusals_sent_here_and_of_no_flow_are_strays, Fixture) {
    tell(EventKind::kNew, flow(0, kBackend));
    table.take(refusal_of(flow(0, kBackend).original), Sender::kHere, now);
    table.take(refusal_of(flow(1, kBackend).original), Sender::kElsewhere, now);
    table.take(refusal_of(flow(2, kBackend).original), Sender::kHere, now);
    table.take(refusal_of(flow(2, kBackend).original), Sender::kHere, now);
    table.take(refusal_of(flow(3, kBackend).original), Sender::kHere, now);
    BOOST_TEST(table.report(now).stray_refusals.empty());
    now += 3 * kSecond;
    table.tick(now);
    const auto strays = table.report(now).stray_refusals;
    BOOST_REQUIRE_EQUAL(strays.size(), 1U);
    BOOST_TEST(strays[0].packets == 2U);
    BOOST_TEST(frame::to_string(strays[0].destination) == kService);
}

BOOST_FIXTURE_TEST_CASE(an_old_past_fades_and_a_backend_that_dies_is_named, Fixture) {
    for (unsigned i = 0; i < 1000; ++i) {
        tell(EventKind::kNew, flow(i, kBackend));
        tell(EventKind::kUpdate, answered(flow(i, kBackend)));
    }
    BOOST_TEST((only().verdict == BackendVerdict::kHealthy));
    now += options.rules.window_ns + kSecond;
    for (unsigned i = 1000; i < 1030; ++i) {
        tell(EventKind::kNew, flow(i, kBackend));
    }
    now += options.rules.patience_ns;
    BOOST_TEST(only().judged == 30U);
    BOOST_TEST(only().flows == 1030U);
    BOOST_TEST((only().verdict == BackendVerdict::kDead));
}

BOOST_FIXTURE_TEST_CASE(entries_of_a_dump_count_once, Fixture) {
    table.seed(flow(0, kBackend), now);
    table.seed(answered(flow(1, kBackend)), now);
    // Events of the dumped entries were queued while the table was read.
    tell(EventKind::kNew, flow(0, kBackend));
    tell(EventKind::kNew, flow(1, kBackend));
    tell(EventKind::kNew, flow(2, kBackend));
    BOOST_TEST(only().flows == 3U);
    // An entry with the tuples of one that has gone counts anew.
    tell(EventKind::kDestroy, answered(flow(1, kBackend)));
    tell(EventKind::kNew, flow(1, kBackend));
    BOOST_TEST(only().flows == 4U);
    BOOST_TEST(only().in_table == 3);
}

BOOST_FIXTURE_TEST_CASE(hidden_entries_of_clashes_are_left_out, Fixture) {
    Entry hidden = flow(0, kBackend);
    hidden.status |= status::kNatClash;
    tell(EventKind::kUpdate, answered(hidden));
    tell(EventKind::kDestroy, hidden);
    BOOST_TEST(table.report(now).services.empty());
}

BOOST_FIXTURE_TEST_CASE(backends_are_grouped_by_service_and_protocol, Fixture) {
    tell(EventKind::kNew, flow(0, "10.1.0.2:53"));
    for (unsigned i = 1; i < 4; ++i) {
        tell(EventKind::kNew, flow(i, "10.1.0.3:53"));
    }
    for (unsigned i = 0; i < 9; ++i) {
        tell(EventKind::kNew, flow(i, "10.1.0.2:53", IPPROTO_TCP));
    }
    const BackendReport report = table.report(now);
    BOOST_REQUIRE_EQUAL(report.services.size(), 2U);
    BOOST_TEST(report.services[0].protocol == IPPROTO_TCP);
    BOOST_TEST(report.services[1].flows == 4U);
    BOOST_REQUIRE_EQUAL(report.services[1].backends.size(), 2U);
    BOOST_TEST(frame::to_string(report.services[1].backends[0].address) == "10.1.0.3:53");
}

BOOST_AUTO_TEST_CASE(destinations_without_translation_are_shown_only_when_asked_for) {
    Entry direct = flow(0, kService);
    BackendTable translated_only({});
    translated_only.take({.kind = EventKind::kNew, .time_ns = kStart, .entry = direct});
    BOOST_TEST(translated_only.report(kStart).services.empty());
    BackendTable all({.rules = {}, .scope = BackendTableOptions::Scope::kAll});
    all.take({.kind = EventKind::kNew, .time_ns = kStart, .entry = direct});
    BOOST_TEST(all.report(kStart).services.size() == 1U);
}

BOOST_AUTO_TEST_CASE(too_many_backends_are_counted_and_idle_ones_make_room) {
    BackendTable table({.rules = {}, .backends = 2});
    const auto tell = [&](EventKind kind, unsigned client, std::int64_t time_ns) {
        const std::string backend = fmt::format("10.1.0.{}:53", client + 2);
        table.take({.kind = kind, .time_ns = time_ns, .entry = flow(client, backend.c_str())});
    };
    for (unsigned i = 0; i < 3; ++i) {
        tell(EventKind::kNew, i, kStart);
    }
    BOOST_TEST(table.report(kStart).flows_left_out == 1U);
    tell(EventKind::kDestroy, 0, kStart);
    const std::int64_t later = kStart + BackendRules().window_ns + kSecond;
    tell(EventKind::kNew, 3, later);
    const BackendReport report = table.report(later);
    BOOST_TEST(report.flows_left_out == 1U);
    BOOST_REQUIRE_EQUAL(report.services.size(), 1U);
    BOOST_REQUIRE_EQUAL(report.services[0].backends.size(), 2U);
    BOOST_TEST(frame::to_string(report.services[0].backends[1].address) == "10.1.0.5:53");
}

BOOST_AUTO_TEST_CASE(too_many_waiting_flows_are_judged_or_counted_as_forgotten) {
    BackendTable table({.rules = {}, .waiting = 4});
    for (unsigned i = 0; i < 6; ++i) {
        table.take({.kind = EventKind::kNew, .time_ns = kStart, .entry = flow(i, kBackend)});
    }
    BOOST_TEST(table.report(kStart).flows_forgotten == 2U);
    const std::int64_t later = kStart + 2 * kSecond;
    table.take({.kind = EventKind::kNew, .time_ns = later, .entry = flow(6, kBackend)});
    const BackendReport report = table.report(later);
    BOOST_TEST(report.flows_forgotten == 2U);
    BOOST_TEST(report.services[0].backends[0].unanswered == 4U);
}

BOOST_AUTO_TEST_CASE(verdicts_follow_their_rules) {
    const auto verdict = [](std::uint64_t judged, std::uint64_t unanswered, std::uint64_t refused) {
        BackendHealth health{.judged = judged, .unanswered = unanswered, .refused = refused};
        judge(health, {});
        return health.verdict;
    };
    BOOST_TEST((verdict(19, 19, 0) == BackendVerdict::kTooFew));
    BOOST_TEST((verdict(20, 20, 0) == BackendVerdict::kDead));
    BOOST_TEST((verdict(20, 18, 0) == BackendVerdict::kLossy));
    BOOST_TEST((verdict(20, 19, 0) == BackendVerdict::kDead));
    BOOST_TEST((verdict(20, 20, 2) == BackendVerdict::kDead));
    BOOST_TEST((verdict(20, 20, 3) == BackendVerdict::kRefusing));
    BOOST_TEST((verdict(20, 3, 3) == BackendVerdict::kLossy));
    BOOST_TEST((verdict(20, 2, 2) == BackendVerdict::kHealthy));
    BOOST_TEST((verdict(0, 0, 0) == BackendVerdict::kTooFew));
}

namespace {

PassedPacket packet_of(const char* from, const char* to, std::int64_t time_ns, bool leaving,
                       std::uint32_t device, std::uint8_t protocol = IPPROTO_UDP) {
    return {.time_ns = time_ns,
            .source = *frame::parse_endpoint(from),
            .destination = *frame::parse_endpoint(to),
            .protocol = protocol,
            .leaving = leaving,
            .device = device,
            .asks = true};
}

BackendHealth only_with_traffic(const BackendTable& table, std::int64_t now) {
    const BackendReport report = table.report(now, true);
    BOOST_REQUIRE_EQUAL(report.services.size(), 1U);
    BOOST_REQUIRE_EQUAL(report.services[0].backends.size(), 1U);
    return report.services[0].backends[0];
}

}  // namespace

// One flow of many datagrams: its entry says that it was answered once, for ever.
BOOST_FIXTURE_TEST_CASE(a_backend_that_falls_silent_within_a_flow_is_named, Fixture) {
    tell(EventKind::kNew, flow(0, kBackend));
    table.take(packet_of("198.18.0.1:10000", kBackend, now, true, 3));
    table.take(packet_of(kBackend, "198.18.0.1:10000", now, false, 3));
    tell(EventKind::kUpdate, answered(flow(0, kBackend)));
    BOOST_TEST((only_with_traffic(table, now).verdict == BackendVerdict::kTooFew));
    for (int i = 0; i < 960; ++i) {
        now += kSecond / 60;
        // The port of a bridge, and the bridge: one packet.
        table.take(packet_of("198.18.0.1:10000", kBackend, now, true, 3));
        table.take(packet_of("198.18.0.1:10000", kBackend, now, true, 4));
    }
    const BackendHealth silent = only_with_traffic(table, now);
    BOOST_TEST((silent.verdict == BackendVerdict::kSilent));
    BOOST_TEST(silent.traffic->unanswered == 960U);
    BOOST_TEST(silent.note == "has answered before, 960 packets unanswered in 16 s");
    // Without the packets nobody can tell.
    BOOST_TEST((table.report(now).services[0].backends[0].verdict == BackendVerdict::kTooFew));
    table.take(packet_of(kBackend, "198.18.0.1:10000", now, false, 5));
    BOOST_TEST((only_with_traffic(table, now).verdict == BackendVerdict::kTooFew));
}

BOOST_FIXTURE_TEST_CASE(a_pause_and_a_few_lost_packets_are_no_silence, Fixture) {
    for (unsigned i = 0; i < 30; ++i) {
        tell(EventKind::kNew, flow(i, kBackend));
        tell(EventKind::kUpdate, answered(flow(i, kBackend)));
    }
    for (int i = 0; i < 19; ++i) {
        now += kSecond;
        table.take(packet_of("198.18.0.1:10000", kBackend, now, true, 3));
    }
    BOOST_TEST((only_with_traffic(table, now).verdict == BackendVerdict::kHealthy));
    table.take(packet_of("198.18.0.1:10000", kBackend, now, true, 3));
    BOOST_TEST((only_with_traffic(table, now).verdict == BackendVerdict::kSilent));
    // Nobody asks it any more.
    now += options.rules.silent_idle_ns + kSecond;
    BOOST_TEST((only_with_traffic(table, now).verdict == BackendVerdict::kHealthy));
}

BOOST_AUTO_TEST_CASE(answers_by_another_way_accuse_nobody) {
    for (const bool acknowledged : {true, false}) {
        Fixture fixture({.scope = BackendTableOptions::Scope::kAll});
        for (unsigned i = 0; i < 30; ++i) {
            Entry direct = flow(i, kService, IPPROTO_TCP);
            fixture.tell(EventKind::kNew, direct);
            auto packet =
                packet_of("198.18.0.1:10000", kService, fixture.now, true, 3, IPPROTO_TCP);
            fixture.table.take(packet);
            packet.acknowledges = acknowledged;
            packet.asks = false;
            fixture.table.take(packet);
        }
        fixture.now += 5 * kSecond;
        const BackendHealth health = only_with_traffic(fixture.table, fixture.now);
        BOOST_TEST((health.verdict == BackendVerdict::kOneWay));
        BOOST_TEST(health.note.starts_with(acknowledged ? "answers take another way"
                                                        : "no packet of its address"),
                   health.note);
    }
}

// Something else of that host passes here: its way back is known, and it is silent on its port.
BOOST_AUTO_TEST_CASE(silence_on_a_way_that_other_answers_take_is_death) {
    Fixture fixture({.scope = BackendTableOptions::Scope::kAll});
    for (unsigned i = 0; i < 30; ++i) {
        fixture.tell(EventKind::kNew, flow(i, kService));
        fixture.table.take(packet_of("198.18.0.1:10000", kService, fixture.now, true, 3));
    }
    fixture.table.take(packet_of("10.96.0.10:80", "198.18.0.1:999", fixture.now, false, 3));
    fixture.now += 5 * kSecond;
    BOOST_TEST((only_with_traffic(fixture.table, fixture.now).verdict == BackendVerdict::kDead));
}

BOOST_AUTO_TEST_CASE(receivers_that_never_answer_and_tunnels_are_not_dead) {
    for (const char* service : {"10.96.0.10:514", "10.96.0.10:4789"}) {
        Fixture fixture({.scope = BackendTableOptions::Scope::kAll});
        for (unsigned i = 0; i < 30; ++i) {
            fixture.tell(EventKind::kNew,
                         netfilter::make_entry(fmt::format("198.18.0.1:{}", 10'000 + i), service,
                                               service, i + 1));
        }
        fixture.now += 5 * kSecond;
        BOOST_TEST((fixture.only().verdict == BackendVerdict::kOneWay));
    }
}

// TFTP answers from a port of its own: an entry by itself, and nobody's service.
BOOST_AUTO_TEST_CASE(answers_from_another_port_are_answers_where_nothing_translates) {
    for (const char* backend : {"10.96.0.10:69", "10.1.0.2:69"}) {
        const bool translated = std::string_view(backend).starts_with("10.1");
        Fixture fixture({.scope = BackendTableOptions::Scope::kAll});
        for (unsigned i = 0; i < 30; ++i) {
            const std::string client = fmt::format("198.18.0.1:{}", 40'000 + i);
            const std::string answer =
                fmt::format("{}:{}", translated ? "10.1.0.2" : "10.96.0.10", 50'000 + i);
            fixture.tell(EventKind::kNew,
                         netfilter::make_entry(client, "10.96.0.10:69", backend, 2 * i + 1));
            fixture.tell(EventKind::kNew,
                         netfilter::make_entry(answer, client.c_str(), client.c_str(), 2 * i + 2));
        }
        fixture.now += 5 * kSecond;
        const BackendHealth health = fixture.only();
        BOOST_TEST(health.astray == 30U);
        BOOST_TEST(health.flows == 30U);
        BOOST_TEST(
            (health.verdict == (translated ? BackendVerdict::kDead : BackendVerdict::kHealthy)));
        BOOST_TEST(health.note.starts_with("30 answers came from "), health.note);
    }
}

// A backend's late packet, when its entry is gone, makes no service of each client's port.
BOOST_AUTO_TEST_CASE(late_answers_make_no_services) {
    Fixture fixture({.scope = BackendTableOptions::Scope::kAll});
    for (unsigned i = 0; i < 30; ++i) {
        const std::string client = fmt::format("198.18.0.1:{}", 10'000 + i);
        fixture.tell(EventKind::kNew, flow(i, kService));
        fixture.tell(EventKind::kDestroy, flow(i, kService), 4711);
        fixture.tell(EventKind::kNew,
                     netfilter::make_entry(kService, client.c_str(), client.c_str(), 100 + i));
    }
    BOOST_TEST(fixture.only().flows == 30U);
}

BOOST_FIXTURE_TEST_CASE(the_kernels_own_counters_tell_silence_too, Fixture) {
    const Entry entry = answered(flow(0, kBackend));
    tell(EventKind::kNew, flow(0, kBackend));
    tell(EventKind::kUpdate, entry);
    table.take_counted(entry, 10, 10, now);
    BOOST_TEST(only_with_traffic(table, now).traffic->answered == 10U);
    for (int i = 0; i < 4; ++i) {
        now += 5 * kSecond;
        table.take_counted(entry, 300, 0, now);
    }
    const BackendHealth silent = only_with_traffic(table, now);
    BOOST_TEST((silent.verdict == BackendVerdict::kSilent));
    BOOST_TEST(silent.traffic->unanswered == 1200U);
    // The backend's answers in another zone are an entry of their own.
    Entry mirrored = netfilter::make_entry(kBackend, "198.18.0.1:10000", "198.18.0.1:10000", 9);
    table.take_counted(mirrored, 5, 0, now);
    BOOST_TEST(only_with_traffic(table, now).traffic->unanswered == 0U);
}
