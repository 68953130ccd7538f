#include "dataplane/search/latency_at_load.h"

#include <algorithm>

namespace pathproof::search {
namespace {

LatencyValues values_of(const judge::LatencyHistogram& histogram) {
    const judge::LatencySummary summary = histogram.summary();
    const auto at = [&](double share) { return static_cast<double>(histogram.quantile_ns(share)); };
    return {.min = static_cast<double>(summary.min_ns),
            .p50 = at(0.5),
            .p90 = at(0.9),
            .p99 = at(0.99),
            .p999 = at(0.999),
            .max = static_cast<double>(summary.max_ns)};
}

// The average of n + 1 trials out of that of n.
void average_in(LatencyValues& average, const LatencyValues& next, unsigned before) {
    for (double LatencyValues::*value :
         {&LatencyValues::min, &LatencyValues::p50, &LatencyValues::p90, &LatencyValues::p99,
          &LatencyValues::p999, &LatencyValues::max}) {
        average.*value += (next.*value - average.*value) / (before + 1);
    }
}

// False when there are no more trials.
Result<bool> measure_point(const LatencyPlan& plan, Trials& trials, LatencyPoint& into) {
    std::uint64_t sent = 0;
    std::uint64_t lost = 0;
    while (into.trials < plan.repeats) {
        const auto trial = TRY(trials.run(
            {.load_pps = into.point.load_pps, .duration = plan.trial_duration}, Use::kTimes));
        if (trial == nullptr) {
            return false;
        }
        const TrialOutput& output = *trial;
        into.offered_pps =
            into.trials == 0 ? output.offered_pps : std::min(into.offered_pps, output.offered_pps);
        into.each.push_back(values_of(output.latency));
        average_in(into.average, into.each.back(), into.trials);
        into.histogram.merge(output.latency);
        ++into.trials;
        into.frames += output.latency.count();
        into.doubtful |=
            output.disturbed() || !output.objection.empty() || !output.tester_limit.empty();
        sent += output.sent;
        lost += output.lost;
        into.loss_ratio = sent == 0 ? 0 : static_cast<double>(lost) / static_cast<double>(sent);
    }
    return true;
}

}  // namespace

Result<LatencyResult> measure_latency(const LatencyPlan& plan, Trials& trials) {
    LatencyResult result;
    for (const LatencyPlan::Point& point : plan.points) {
        LatencyPoint measured{.point = point};
        const auto more = TRY(measure_point(plan, trials, measured));
        if (measured.trials != 0) {
            result.points.push_back(measured);
        }
        if (!more) {
            break;
        }
    }
    result.ending = trials.ending();
    return result;
}

std::vector<LatencyPlan::Point> shares_of(double rate_pps, const std::string& rate_name) {
    std::vector<LatencyPlan::Point> points;
    for (const int percent : {10, 50, 90}) {
        points.push_back({.label = fmt::format("{} % of {}", percent, rate_name),
                          .load_pps = rate_pps * percent / 100});
    }
    return points;
}

}  // namespace pathproof::search
