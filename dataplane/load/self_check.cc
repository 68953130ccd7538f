#include "dataplane/load/self_check.h"

#include <fmt/ranges.h>

#include <cmath>

namespace pathproof::load {
namespace {

using Texts = std::vector<std::string>;

// Share of the requested rate that may be missing.
constexpr double kRateTolerance = 0.001;
// Share of a worker's time that may be spent waiting for its CPU or in stalls.
constexpr double kLostTimeTolerance = 0.01;
constexpr double kClockTolerancePpm = 100;
// Shortest time, and smallest number of readings, over which a counter that is not invariant must
// be seen to run on.
constexpr std::int64_t kLeastWatchNs = 1'000'000'000;
constexpr unsigned kLeastReadings = 8;

std::string rate_limit(const TrialReport& report) {
    const double asked = report.order.frames_per_second;
    if (asked <= 0 || report.sent == 0 || report.partial) {
        return {};
    }
    const auto sent = static_cast<double>(report.sent);
    const auto left_out = static_cast<double>(report.handed.left_out);
    const bool slow = report.sending_seconds > sent / asked * (1 + kRateTolerance) + kEndsSeconds;
    if (!slow && left_out <= (sent + left_out) * kRateTolerance) {
        return {};
    }
    return fmt::format(
        "the rate was not reached: {:.0f} of {:.0f} frames per second{}", report.achieved_pps,
        asked,
        report.handed.left_out == 0
            ? ""
            : fmt::format(", {} frames left out behind stalls", report.handed.left_out));
}

// Frames that the driver took and its kernel interface never sent: nobody behind it can have lost
// them.
std::string never_sent(const TrialReport& report, const RunFacts& facts) {
    const std::uint64_t sent = report.sender_port.tx_by_interface;
    if (report.partial || sent >= report.sent) {
        return {};
    }
    return fmt::format(
        "port {} lost {} frames itself: its driver took {} and its interface counted {} as sent",
        facts.sender_ports, report.sent - sent, report.sent, sent);
}

std::string own_drops(const TrialReport& report, const RunFacts& facts) {
    std::string lost = never_sent(report, facts);
    const port::PortCounters& port = report.receiver_port;
    if (port.rx_missed + port.rx_no_mbuf == 0) {
        return lost;
    }
    return lost + (lost.empty() ? "" : "; ") +
           fmt::format(
               "port {} lost {} frames itself ({} for want of a descriptor, {} for want of "
               "a buffer)",
               facts.receiver_ports, port.rx_missed + port.rx_no_mbuf, port.rx_missed,
               port.rx_no_mbuf);
}

void check_hand(const TrialReport& report, const RunFacts& facts, Texts& found) {
    if (report.handed.stuck > 0) {
        found.push_back(fmt::format("port {} took no frame for 100 ms on {} of its queues",
                                    facts.sender_ports, report.handed.stuck));
    }
    if (report.handed.no_buffer > 0) {
        found.push_back(fmt::format("the buffers of port {} ran out {} times", facts.sender_ports,
                                    report.handed.no_buffer));
    }
    const port::PortCounters& port = report.sender_port;
    const std::uint64_t beside = report.handed.warm_ups + report.handed.answers;
    if (port.tx_packets != report.sent + beside || port.tx_errors > 0) {
        found.push_back(
            fmt::format("port {} counted {} sent frames and {} failures, the run "
                        "handed it {}",
                        facts.sender_ports, port.tx_packets, port.tx_errors, report.sent));
    }
}

void check_received(const TrialReport& report, const RunFacts& facts, Texts& found) {
    if (facts.receiver_ports.empty()) {
        return;
    }
    if (!report.intake.received.balances()) {
        found.push_back("the received frames do not add up");
    }
    if (report.unique() > report.sent) {
        found.push_back(
            fmt::format("{} different frames came back of {} sent: some are of a trial "
                        "before; wait longer between them",
                        report.unique(), report.sent));
    }
    if (report.receiver_port.rx_errors > 0) {
        found.push_back(fmt::format("port {} reported {} receive errors", facts.receiver_ports,
                                    report.receiver_port.rx_errors));
    }
}

void check_worker(const WorkerHealth& worker, Texts& found) {
    const auto ran = static_cast<double>(worker.ran_ns);
    const auto waited = static_cast<double>(worker.waited_ns);
    if (waited > (ran + waited) * kLostTimeTolerance && worker.waited_ns > 1'000'000) {
        found.push_back(fmt::format("worker {} waited {:.1f} ms for its CPU, {:.1f} % of its time",
                                    worker.worker, waited / 1e6, 100 * waited / (ran + waited)));
        return;
    }
    const auto stalled = static_cast<double>(worker.stalled_ns);
    if (stalled > (ran + waited) * kLostTimeTolerance && worker.stalled_ns > 1'000'000) {
        found.push_back(
            fmt::format("worker {} stood still {} times, {:.1f} ms together, the "
                        "longest {:.1f} ms",
                        worker.worker, worker.stalls, stalled / 1e6,
                        static_cast<double>(worker.longest_stall_ns) / 1e6));
    }
}

// Checks whether a counter that the CPU does not call invariant may be used all the same: it must
// have been seen beside a clock that is not made from it, all over this trial. Fills in
// clock_proof, or returns the objection.
std::string check_counter(TrialReport& report, const RunFacts& facts) {
    const std::string no_word =
        "the time-stamp counter of this CPU is not invariant (no constant_tsc and nonstop_tsc in "
        "/proc/cpuinfo)";
    if (made_from_counter(facts.clock_source)) {
        return fmt::format(
            "{}, and CLOCK_MONOTONIC ({}) is no other clock to hold it against: times and rates "
            "cannot be trusted",
            no_word, facts.clock_source.empty() ? "clock source unknown" : facts.clock_source);
    }
    const CounterWatch& watch = report.counter;
    if (watch.elapsed_ns < kLeastWatchNs || watch.readings < kLeastReadings) {
        return fmt::format(
            "{}, and the trial was too short to hold it against CLOCK_MONOTONIC ({}): {} readings "
            "in {:.1f} s",
            no_word, facts.clock_source, watch.readings,
            static_cast<double>(watch.elapsed_ns) / 1e9);
    }
    const auto off = static_cast<double>(std::abs(watch.farthest_ns));
    const double most = static_cast<double>(watch.elapsed_ns) * kClockTolerancePpm / 1e6;
    if (off + static_cast<double>(watch.uncertain_ns) > most) {
        return fmt::format(
            "{}: of {} readings in {:.1f} s the worst was {:.0f} us off CLOCK_MONOTONIC ({}), read "
            "to {:.0f} us",
            no_word, watch.readings, static_cast<double>(watch.elapsed_ns) / 1e9, off / 1e3,
            facts.clock_source, static_cast<double>(watch.uncertain_ns) / 1e3);
    }
    report.clock_proof = fmt::format(
        "the time-stamp counter is not invariant by the CPU's flags; in {} readings (every 100 ms, "
        "and on each lcore before and after), {:.1f} s long, it was at most {:.0f} us off "
        "CLOCK_MONOTONIC ({}), read to {:.0f} us",
        watch.readings, static_cast<double>(watch.elapsed_ns) / 1e9, off / 1e3, facts.clock_source,
        static_cast<double>(watch.uncertain_ns) / 1e3);
    return {};
}

void check_clock(TrialReport& report, const RunFacts& facts, Texts& found) {
    report.clock_proof.clear();
    if (!facts.counter_invariant) {
        if (std::string objection = check_counter(report, facts); !objection.empty()) {
            found.push_back(std::move(objection));
        }
    }
    if (report.clock_ppm && std::abs(*report.clock_ppm) > kClockTolerancePpm) {
        found.push_back(
            fmt::format("the clock is not calibrated: the time-stamp counter's rate is "
                        "{:.0f} ppm off CLOCK_MONOTONIC",
                        *report.clock_ppm));
    }
}

}  // namespace

void check_trial(TrialReport& report, const RunFacts& facts) {
    report.missed_rate = rate_limit(report);
    report.own_drops = own_drops(report, facts);
    Texts found;
    for (const std::string& limit : {report.missed_rate, report.own_drops}) {
        if (!limit.empty()) {
            found.push_back(limit);
        }
    }
    report.tester_limit = fmt::format("{}", fmt::join(found, "; "));
    check_hand(report, facts, found);
    check_received(report, facts, found);
    report.disturbances.clear();
    for (const WorkerHealth& worker : report.workers) {
        check_worker(worker, report.disturbances);
    }
    found.insert(found.end(), report.disturbances.begin(), report.disturbances.end());
    check_clock(report, facts, found);
    found.insert(found.end(), facts.troubles.begin(), facts.troubles.end());
    report.objections = std::move(found);
}

}  // namespace pathproof::load
