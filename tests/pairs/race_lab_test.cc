#define BOOST_TEST_MODULE pairs_lab
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <optional>

#include "dataplane/pairs/pair_run.h"
#include "dataplane/port/device_name.h"
#include "dataplane/port/eal.h"
#include "harness/tester/client.h"
#include "tests/pairs/nat_box.h"

using namespace pathproof;
using namespace pathproof::pairs;
using namespace pathproof::traffic;
using judge::PairReport;
using judge::QueryState;

namespace {

// The DUT, and the tester's three ports in it; one of each in the process.
struct Bench {
    static inline Bench* current = nullptr;

    NatBox box;
    std::optional<port::Eal> eal;
    std::vector<port::Port> ports;

    Bench() {
        std::vector<std::string> vdevs;
        for (std::size_t n = 0; n < kTesterPorts.size(); ++n) {
            std::string vdev = port::af_packet_device(kTesterPorts[n]);
            vdev.insert(vdev.find(','), std::to_string(n));
            vdevs.push_back(vdev);
        }
        auto started = port::Eal::start({.worker_cpus = {0, 1}, .memory_mib = 512, .vdevs = vdevs});
        BOOST_REQUIRE_MESSAGE(started, started.error().message);
        eal.emplace(std::move(*started));
        for (std::size_t n = 0; n < kTesterPorts.size(); ++n) {
            auto port = port::Port::open(
                {.name = kTesterPorts[n], .device = "net_af_packet" + std::to_string(n)});
            BOOST_REQUIRE_MESSAGE(port, port.error().message);
            ports.push_back(std::move(*port));
        }
        current = this;
    }
    ~Bench() {
        current = nullptr;
        ports.clear();
        eal.reset();
    }
};

struct Outcome {
    PairReport report;
    std::uint64_t clashes = 0;
    std::uint64_t insert_failed = 0;
};

Outcome run(const PairPlan& plan, const ResponderPlan& responder) {
    Bench& bench = *Bench::current;
    const std::uint64_t clashes = bench.box.conntrack("clash_resolve");
    const std::uint64_t insert_failed = bench.box.conntrack("insert_failed");
    const std::atomic<bool> stop = false;
    auto report = run_pairs(*bench.eal, bench.ports, plan, responder, stop);
    BOOST_REQUIRE_MESSAGE(report, report.error().message);
    for (const std::string& objection : report->objections) {
        // A busy machine is late; whether the pairs met is what counts here.
        BOOST_TEST(objection.starts_with("late departures"), objection);
    }
    BOOST_TEST_MESSAGE("late " << report->departures.late << " of " << report->departures.sent
                               << ", worst " << report->departures.worst_late_ns / 1000
                               << " us; skew p50 " << report->departures.skew_p50_ns << " ns, p99 "
                               << report->departures.skew_p99_ns << " ns; answers after p50 "
                               << report->latency.p50_ns / 1000 << " us, p99 "
                               << report->latency.p99_ns / 1000 << " us");
    return {std::move(*report), bench.box.conntrack("clash_resolve") - clashes,
            bench.box.conntrack("insert_failed") - insert_failed};
}

}  // namespace

BOOST_TEST_GLOBAL_FIXTURE(Bench);

BOOST_AUTO_TEST_CASE(pairs_by_two_ports_race_in_the_duts_conntrack) {
    const Outcome outcome = run(Bench::current->box.plan(2000), Bench::current->box.responder());
    BOOST_TEST_MESSAGE("clashes " << outcome.clashes);
    // 99 % wherever both lcores keep their CPUs; the rest is for machines that take one away.
    BOOST_TEST(outcome.clashes > 1000u);
    BOOST_TEST(outcome.clashes <= 2000u);
    BOOST_TEST(outcome.report.departures.sent == 4000u);
    BOOST_TEST(outcome.report.count(QueryState::kAnswered) == 4000u);
    BOOST_TEST(outcome.report.server.answers == 4000u);
    BOOST_TEST(judge::audit(outcome.report).empty());
}

BOOST_AUTO_TEST_CASE(queries_meet_both_backends_and_the_report_says_which) {
    PairPlan plan = Bench::current->box.plan(200);
    plan.first_source_port = 20'000;
    const Outcome outcome = run(plan, Bench::current->box.responder());
    std::array<unsigned, 2> met{};
    for (const judge::QueryRecord& record : outcome.report.records) {
        const auto backend = to_string(record.server);
        BOOST_TEST((backend == "203.0.113.2:53" || backend == "203.0.113.3:53"), backend);
        ++met[backend == "203.0.113.2:53" ? 0 : 1];
        BOOST_TEST((record.seen_client == plan.client(record.pair, record.member)));
        BOOST_TEST((record.answer_source == plan.service));
    }
    BOOST_TEST(met[0] > 100u);
    BOOST_TEST(met[1] > 100u);
}

BOOST_AUTO_TEST_CASE(warm_up_frames_leave_no_trace_in_the_dut_but_received_packets) {
    NatBox& box = Bench::current->box;
    PairPlan plan = box.plan(200);
    plan.first_source_port = 25'000;
    plan.pairs_per_second = 500;
    const auto traces = [&] {
        return box.in_dut(
            // Whatever counts errors, drops or ICMP; conntrack -S but for what the queries
            // themselves move.
            "nstat -asz | grep -E "
            "'^(Ip6?|Icmp6?|Udp6?|IpExt|TcpExt).*(Err|Discard|Drop|Fail|NoRoutes|Filter|OutMsgs) ';"
            "conntrack -S | grep -oE '(invalid|insert_failed|drop|early_drop|error)=[0-9]+';"
            "conntrack -L 2>/dev/null | grep -c 255.255.255.255 || true");
    };
    const std::string before = traces();
    const Outcome outcome = run(plan, box.responder());
    BOOST_TEST(outcome.report.count(QueryState::kAnswered) == 400u);
    BOOST_TEST(outcome.report.client.other_traffic == 0u);
    BOOST_TEST(outcome.report.server.other_traffic == 0u);
    BOOST_TEST(before.find("IcmpOutMsgs") != std::string::npos);
    BOOST_TEST(before == traces());
}

BOOST_AUTO_TEST_CASE(pairs_in_one_burst_do_not_race) {
    PairPlan plan = Bench::current->box.plan(2000);
    plan.first_source_port = 30'000;
    plan.departure = Departure::kOneBurst;
    plan.members[1] = plan.members[0];
    plan.members[1].qtype = frame::kDnsTypeAaaa;
    const Outcome outcome = run(plan, Bench::current->box.responder());
    BOOST_TEST(outcome.clashes == 0u);
    BOOST_TEST(outcome.insert_failed == 0u);
    BOOST_TEST(outcome.report.count(QueryState::kAnswered) == 4000u);
}

BOOST_AUTO_TEST_CASE(a_skew_longer_than_the_duts_window_avoids_the_race) {
    PairPlan plan = Bench::current->box.plan(300);
    plan.first_source_port = 40'000;
    plan.skew = std::chrono::microseconds(500);
    const Outcome outcome = run(plan, Bench::current->box.responder());
    BOOST_TEST(outcome.clashes < 15u);
    BOOST_TEST(outcome.report.count(QueryState::kAnswered) == 600u);
}

BOOST_AUTO_TEST_CASE(answers_later_than_the_clash_entrys_second_come_back_untranslated) {
    PairPlan plan = Bench::current->box.plan(200);
    plan.first_source_port = 50'000;
    ResponderPlan responder = Bench::current->box.responder();
    responder.rules[0].delay = std::chrono::milliseconds(1500);
    const Outcome outcome = run(plan, responder);
    const std::uint64_t misdelivered = outcome.report.count(QueryState::kWrongSource);
    BOOST_TEST_MESSAGE("misdelivered " << misdelivered << " of 400");
    BOOST_TEST(misdelivered > 50u);
    BOOST_TEST(misdelivered + outcome.report.count(QueryState::kAnswered) == 400u);
    for (const judge::QueryRecord& record : outcome.report.records) {
        if (record.state == QueryState::kWrongSource) {
            BOOST_TEST((record.answer_source == record.server));
        }
    }
    BOOST_TEST(outcome.report.misdelivered_frames.size() ==
               std::min<std::uint64_t>(misdelivered, plan.keep_bad_frames));
}
