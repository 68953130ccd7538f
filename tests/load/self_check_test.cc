#include "dataplane/load/self_check.h"

#include <boost/test/unit_test.hpp>

#include "dataplane/load/clock_check.h"

using namespace pathproof::load;

namespace {

const RunFacts kFacts{.sender_ports = "p0", .receiver_ports = "p1"};

// 10,000 frames in a second on a machine that did nothing else.
TrialReport healthy() {
    TrialReport report;
    report.order = {.frames_per_second = 10'000, .frames = 10'000};
    report.sent = 10'000;
    report.sending_seconds = 1;
    report.achieved_pps = 10'000;
    report.sender_port.tx_packets = 10'000;
    report.sender_port.tx_by_interface = 10'000;
    report.intake.received.received = 10'000;
    report.intake.received.answers = 10'000;
    report.intake.classes[0].unique = 10'000;
    report.workers = {{.worker = 0, .ran_ns = 1'000'000'000}};
    report.clock_ppm = 3;
    return report;
}

void check(TrialReport report, const std::string& words, const std::string& limit = "",
           const RunFacts& facts = kFacts) {
    check_trial(report, facts);
    BOOST_REQUIRE_MESSAGE(!report.objections.empty(), words);
    BOOST_TEST(report.objections.size() == 1u);
    BOOST_TEST(report.objections[0].find(words) != std::string::npos, report.objections[0]);
    BOOST_TEST(report.tester_limit.find(limit) != std::string::npos, report.tester_limit);
    BOOST_TEST(report.tester_limit.empty() == limit.empty(), report.tester_limit);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(self_check)

BOOST_AUTO_TEST_CASE(nothing_is_held_against_a_healthy_run) {
    TrialReport report = healthy();
    check_trial(report, kFacts);
    BOOST_TEST(report.objections.empty());
    BOOST_TEST(report.tester_limit.empty());
}

BOOST_AUTO_TEST_CASE(small_things_are_no_objections) {
    TrialReport report = healthy();
    report.sending_seconds = 1.0009;
    report.handed.left_out = 9;
    report.handed.refused = 500;
    report.workers[0].waited_ns = 9'000'000;
    report.workers[0].stalls = 3;
    report.workers[0].stalled_ns = 9'000'000;
    report.clock_ppm = -99;
    check_trial(report, kFacts);
    BOOST_TEST(report.objections.empty());
}

BOOST_AUTO_TEST_CASE(a_rate_that_was_missed_by_more_than_a_thousandth_is_the_testers_limit) {
    TrialReport slow = healthy();
    slow.sending_seconds = 1.002;
    slow.achieved_pps = 9'980;
    check(slow, "the rate was not reached: 9980 of 10000", "rate was not reached");
    TrialReport gaps = healthy();
    gaps.handed.left_out = 20;
    check(gaps, "20 frames left out", "rate was not reached");
    check_trial(gaps, kFacts);
    BOOST_TEST(gaps.missed_rate == gaps.tester_limit);
    BOOST_TEST(gaps.own_drops.empty());
}

BOOST_AUTO_TEST_CASE(a_run_at_full_speed_or_cut_short_misses_no_rate) {
    TrialReport fastest = healthy();
    fastest.order.frames_per_second = 0;
    fastest.sending_seconds = 5;
    check_trial(fastest, kFacts);
    BOOST_TEST(fastest.objections.empty());
    TrialReport stopped = healthy();
    stopped.partial = true;
    stopped.sending_seconds = 5;
    check_trial(stopped, kFacts);
    BOOST_TEST(stopped.objections.empty());
}

BOOST_AUTO_TEST_CASE(frames_that_the_receiving_port_lost_are_the_testers_limit) {
    TrialReport report = healthy();
    report.receiver_port.rx_missed = 5;
    report.receiver_port.rx_no_mbuf = 2;
    check(report, "port p1 lost 7 frames itself (5 for want of a descriptor, 2", "lost 7 frames");
    check_trial(report, kFacts);
    BOOST_TEST(report.own_drops == report.tester_limit);
    BOOST_TEST(report.missed_rate.empty());
}

BOOST_AUTO_TEST_CASE(frames_that_the_interface_never_sent_are_the_testers_limit) {
    TrialReport report = healthy();
    report.sender_port.tx_by_interface = 9'400;
    check(report,
          "port p0 lost 600 frames itself: its driver took 10000 and its interface counted 9400",
          "lost 600 frames");
    check_trial(report, kFacts);
    BOOST_TEST(report.own_drops == report.tester_limit);
    report.receiver_port.rx_missed = 5;
    check_trial(report, kFacts);
    BOOST_TEST(report.own_drops.find("port p0 lost 600") != std::string::npos);
    BOOST_TEST(report.own_drops.find("port p1 lost 5") != std::string::npos);

    TrialReport with_the_kernels = healthy();
    with_the_kernels.sender_port.tx_by_interface = 10'003;
    check_trial(with_the_kernels, kFacts);
    BOOST_TEST(with_the_kernels.objections.empty());
    TrialReport stopped = healthy();
    stopped.partial = true;
    stopped.sender_port.tx_by_interface = 9'400;
    check_trial(stopped, kFacts);
    BOOST_TEST(stopped.own_drops.empty());
}

BOOST_AUTO_TEST_CASE(counters_that_disagree_are_said) {
    TrialReport fewer = healthy();
    fewer.sender_port.tx_packets = 9'999;
    check(fewer, "port p0 counted 9999 sent frames");
    TrialReport failed = healthy();
    failed.sender_port.tx_errors = 1;
    check(failed, "1 failures");
    TrialReport odd = healthy();
    odd.intake.received.received = 10'001;
    check(odd, "do not add up");
    TrialReport more = healthy();
    more.intake.classes[1].unique = 1;
    check(more, "10001 different frames came back of 10000");
    TrialReport errors = healthy();
    errors.receiver_port.rx_errors = 4;
    check(errors, "4 receive errors");
}

BOOST_AUTO_TEST_CASE(what_the_driver_and_the_pool_refused_is_said) {
    TrialReport stuck = healthy();
    stuck.handed.stuck = 1;
    check(stuck, "took no frame");
    TrialReport empty = healthy();
    empty.handed.no_buffer = 3;
    check(empty, "ran out 3 times");
}

BOOST_AUTO_TEST_CASE(a_worker_that_lost_its_cpu_is_said) {
    TrialReport waited = healthy();
    waited.workers[0].waited_ns = 20'000'000;
    check(waited, "worker 0 waited 20.0 ms for its CPU, 2.0 %");
    check_trial(waited, kFacts);
    BOOST_TEST((waited.disturbances == waited.objections));
    TrialReport stood = healthy();
    stood.workers[0].stalls = 4;
    stood.workers[0].stalled_ns = 30'000'000;
    stood.workers[0].longest_stall_ns = 12'000'000;
    check(stood, "stood still 4 times, 30.0 ms together, the longest 12.0 ms");
}

BOOST_AUTO_TEST_CASE(a_clock_that_is_off_is_said) {
    TrialReport fast = healthy();
    fast.clock_ppm = 150;
    check(fast, "150 ppm");
    TrialReport slow = healthy();
    slow.clock_ppm = -150;
    check(slow, "-150 ppm");
    RunFacts unsteady = kFacts;
    unsteady.counter_invariant = false;
    check(healthy(), "not invariant", "", unsteady);
}

// A CPU that does not vouch for its counter, as an emulated one.
BOOST_AUTO_TEST_CASE(
    a_counter_that_is_not_invariant_is_judged_by_a_clock_that_is_not_made_from_it) {
    RunFacts facts = kFacts;
    facts.counter_invariant = false;
    facts.clock_source = "hpet";
    TrialReport steady = healthy();
    steady.counter = {.readings = 20,
                      .elapsed_ns = 2'000'000'000,
                      .farthest_ns = -30'000,
                      .uncertain_ns = 12'000};
    check_trial(steady, facts);
    BOOST_TEST(steady.objections.empty());
    BOOST_TEST(
        steady.clock_proof.find("at most 30 us off CLOCK_MONOTONIC (hpet)") != std::string::npos,
        steady.clock_proof);
    for (const char* itself : {"tsc", "kvm-clock", "changed", ""}) {
        RunFacts same = facts;
        same.clock_source = itself;
        check(steady, "no other clock to hold it against", "", same);
    }
    TrialReport off = steady;
    off.counter.farthest_ns = -195'000;  // with the reading's own uncertainty more than 100 ppm
    check(off, "the worst was 195 us off CLOCK_MONOTONIC (hpet)", "", facts);
    TrialReport brief = steady;
    brief.counter.elapsed_ns = 900'000'000;
    check(brief, "too short", "", facts);
    TrialReport seldom = steady;
    seldom.counter.readings = 7;
    check(seldom, "7 readings", "", facts);
    // The report has no word about a counter that the CPU vouches for.
    check_trial(steady, kFacts);
    BOOST_TEST(steady.clock_proof.empty());
}

BOOST_AUTO_TEST_CASE(the_reading_that_is_farthest_off_counts) {
    const pathproof::traffic::TscClock clock(1'000'000'000);
    const pathproof::port::ClockReading start{.tsc = 500, .monotonic_ns = 1000, .window = 7};
    const std::vector<pathproof::port::ClockReading> readings = {
        {.tsc = 600, .monotonic_ns = 1100, .window = 9},
        {.tsc = 2400, .monotonic_ns = 3000, .window = 8},  // another CPU, whose counter is behind
        {.tsc = 2550, .monotonic_ns = 3000, .window = 8}};
    const CounterWatch watch = watch_counter(start, readings, clock);
    BOOST_TEST(watch.readings == 3u);
    BOOST_TEST(watch.elapsed_ns == 2000);
    BOOST_TEST(watch.farthest_ns == -100);
    BOOST_TEST(watch.uncertain_ns == 9);
}

BOOST_AUTO_TEST_CASE(troubles_of_ports_and_lcores_are_handed_on) {
    RunFacts facts = kFacts;
    facts.troubles = {"port p0: the link is down"};
    check(healthy(), "link is down", "", facts);
}

BOOST_AUTO_TEST_CASE(a_counter_is_invariant_if_the_kernel_says_so) {
    BOOST_TEST(invariant_counter("flags\t\t: fpu constant_tsc rep_good nonstop_tsc avx\nbugs:"));
    BOOST_TEST(!invariant_counter("flags\t\t: fpu constant_tsc avx\nbugs\t: nonstop_tsc\n"));
    BOOST_TEST(!invariant_counter("flags : constant_tsc_x nonstop_tsc\n"));
    BOOST_TEST(!invariant_counter(""));
}

BOOST_AUTO_TEST_SUITE_END()
