// Latency at given loads: RFC 2544 latency (26.2) at the throughput, and loaded latency at shares
// of the partial drop rate. RFC 2544 times one tagged frame a trial; here every frame is timed.
#pragma once

#include <vector>

#include "dataplane/search/trials.h"

namespace pathproof::search {

struct LatencyPlan {
    struct Point {
        std::string label;  // "throughput", "50 % of PDR"
        double load_pps = 0;
    };
    std::vector<Point> points;
    Nanoseconds trial_duration = std::chrono::seconds(120);  // RFC 2544: at least
    unsigned repeats = 20;                                   // RFC 2544: at least
};

// Latencies of one trial, in nanoseconds.
struct LatencyValues {
    double min = 0;
    double p50 = 0;
    double p90 = 0;
    double p99 = 0;
    double p999 = 0;
    double max = 0;
};

struct LatencyPoint {
    LatencyPlan::Point point;
    double offered_pps = 0;  // the least of its trials
    unsigned trials = 0;
    LatencyValues average;              // over the trials
    std::vector<LatencyValues> each;    // by trial
    judge::LatencyHistogram histogram;  // of all trials
    std::uint64_t frames = 0;
    double loss_ratio = 0;  // of all trials together
    // A trial had an objection, or the tester was disturbed or the limit.
    bool doubtful = false;
};

struct LatencyResult {
    std::vector<LatencyPoint> points;
    Ending ending = Ending::kNone;
};

Result<LatencyResult> measure_latency(const LatencyPlan& plan, Trials& trials);

// 10, 50 and 90 % of a rate, named after it.
std::vector<LatencyPlan::Point> shares_of(double rate_pps, const std::string& rate_name);

}  // namespace pathproof::search
