#include "dataplane/load/trial_report.h"

#include <algorithm>
#include <limits>

namespace pathproof::load {
namespace {

void add(PairSkew& sum, const PairSkew& one) {
    if (one.pairs == 0) {
        return;
    }
    const std::uint64_t pairs = sum.pairs + one.pairs;
    sum.min_ns = sum.pairs == 0 ? one.min_ns : std::min(sum.min_ns, one.min_ns);
    sum.max_ns = std::max(sum.max_ns, one.max_ns);
    sum.mean_ns +=
        (one.mean_ns - sum.mean_ns) * static_cast<double>(one.pairs) / static_cast<double>(pairs);
    sum.pairs = pairs;
}

void add(InterDeparture& sum, const InterDeparture& one) {
    sum.gaps.merge(one.gaps);
    sum.late += one.late;
    sum.worst_late_ns = std::max(sum.worst_late_ns, one.worst_late_ns);
    sum.windows = std::max(sum.windows, one.windows);
    sum.worst_window = std::max(sum.worst_window, one.worst_window);
}

// Departures of the first and the last frame of all, and when a driver had the last.
struct Span {
    std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
    std::int64_t last_ns = 0;
    std::int64_t done_ns = 0;
};

void add_sender(TrialReport& report, Span& span, judge::LatencyHistogram& hand_over,
                const Sender& sender) {
    const SenderTally& tally = sender.tally();
    report.sent += tally.sent;
    add_counts(report.handed, tally.handed);
    report.partial = report.partial || tally.handed.stuck > 0;
    add_counts(report.sent_by_class, sender.sent_by_class());
    add(report.departures, tally.departures);
    add(report.skew, tally.skew);
    hand_over.merge(tally.hand_over);
    if (tally.sent > 0) {
        span.first_ns = std::min(span.first_ns, tally.first_ns);
        span.last_ns = std::max(span.last_ns, tally.last_ns);
        span.done_ns = std::max(span.done_ns, tally.done_ns);
    }
}

// The last frame, too, has its place in the schedule: n frames take n times the gap.
double seconds(const Span& span, const TrialOrder& order, unsigned frames_in_unit) {
    if (order.frames_per_second <= 0) {
        return static_cast<double>(span.done_ns - span.first_ns) / 1e9;
    }
    return static_cast<double>(span.last_ns - span.first_ns) / 1e9 +
           frames_in_unit / order.frames_per_second;
}

// The interval that a frame meets which comes at any time: longer ones are met more often.
double look_interval_ns(const WorkerTime& time, const traffic::TscClock& clock) {
    return time.looked > 0 ? time.looked_squared / time.looked * 1e9 / clock.hz() : 0;
}

WorkerHealth health(const LoadWorker& worker, const traffic::TscClock& clock) {
    const WorkerTime& time = worker.time();
    std::uint64_t frames = 0;
    for (const Sender& sender : worker.senders()) {
        frames += sender.tally().sent;
    }
    if (worker.senders().empty()) {
        frames = worker.live().received.load(std::memory_order_relaxed);
    }
    return {
        .worker = worker.number(),
        .sends = !worker.senders().empty(),
        .ran_ns = time.ran_ns,
        .waited_ns = time.waited_ns,
        .stalls = time.stalls,
        .stalled_ns = static_cast<std::uint64_t>(clock.nanoseconds(0, time.stalled)),
        .longest_stall_ns = static_cast<std::uint64_t>(clock.nanoseconds(0, time.longest_stall)),
        .cycles_per_frame =
            frames == 0 ? 0 : static_cast<double>(time.busy) / static_cast<double>(frames)};
}

bool sends_on(const LoadWorker::List& workers, const port::Port& port) {
    return std::ranges::any_of(workers, [&](const auto& worker) {
        return std::ranges::any_of(
            worker->senders(), [&](const Sender& sender) { return sender.setup().port == &port; });
    });
}

}  // namespace

TrialReport assemble(const LoadWorker::List& workers, const traffic::RunClock& clock,
                     const TrialOrder& order) {
    TrialReport report;
    report.order = order;
    Span span;
    judge::LatencyHistogram hand_over;
    double bytes = 0;
    unsigned senders = 0;
    unsigned in_unit = 1;
    double look_ns = 0;
    unsigned lookers = 0;
    report.began_ns = std::numeric_limits<std::int64_t>::max();
    for (const auto& worker : workers) {
        report.began_ns = std::min(report.began_ns, clock.at_ns(worker->time().began));
        report.ended_ns = std::max(report.ended_ns, clock.at_ns(worker->time().ended));
        report.emptied += worker->emptied();
        report.partial = report.partial || worker->stopped();
        for (const Sender& sender : worker->senders()) {
            add_sender(report, span, hand_over, sender);
            bytes += sender.source().mean_frame_bytes();
            in_unit = sender.setup().frames_in_unit;
            ++senders;
        }
        if (const TrackedIntake* intake = worker->tracked(); intake != nullptr) {
            add(report.intake, intake->totals());
            look_ns += look_interval_ns(worker->time(), clock.tsc);
            ++lookers;
        }
        report.workers.push_back(health(*worker, clock.tsc));
        add_counts(report.neighbours, worker->answers([](const port::Port&) { return true; }));
        report.handed.answers +=
            worker->answers([&](const port::Port& port) { return sends_on(workers, port); })
                .answered;
    }
    report.mean_frame_bytes = senders == 0 ? 0 : bytes / senders;
    if (report.sent > 0) {
        report.sending_seconds = seconds(span, order, in_unit);
        report.achieved_pps = static_cast<double>(report.sent) / report.sending_seconds;
    }
    report.bias.hand_over_ns = hand_over.quantile_ns(0.5);
    report.bias.poll_ns = lookers == 0 ? 0 : static_cast<std::int64_t>(look_ns / lookers);
    return report;
}

}  // namespace pathproof::load
