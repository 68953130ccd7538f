#include "harness/bench/load/load_search.h"

namespace pathproof::bench {
namespace {

constexpr auto kShort = std::chrono::milliseconds(100);
constexpr int kHalvings = 7;
constexpr int kLongTries = 12;
constexpr double kLowest = 1'000;

bool is_whole(const load::TrialReport& report) {
    return report.sent > 0 && report.missing() == 0;
}

Result<load::TrialReport> trial(load::LoadRun& run, double rate, std::chrono::nanoseconds length) {
    const std::atomic<bool> stop = false;
    return run.run({.frames_per_second = rate, .duration = length}, stop);
}

// As fast as it goes says what can arrive at most: answers stand in the way of queries, so the rate
// without loss is below that.
Result<double> ceiling(load::LoadRun& run) {
    const auto report = trial(run, 0, kShort);
    if (!report) {
        return pass_on(report.error());
    }
    if (is_whole(*report)) {
        return report->achieved_pps;
    }
    const double arrived = static_cast<double>(report->sent - report->missing());
    return 1.2 * arrived / std::max(report->sending_seconds, 1e-3);
}

}  // namespace

Result<load::TrialReport> search_without_loss(load::LoadRun& run,
                                              std::chrono::nanoseconds duration) {
    auto high = ceiling(run);
    if (!high) {
        return pass_on(high.error());
    }
    double low = kLowest;
    double top = std::max(*high, 2 * kLowest);
    for (int i = 0; i < kHalvings; ++i) {
        const double middle = (low + top) / 2;
        const auto report = trial(run, middle, kShort);
        if (!report) {
            return pass_on(report.error());
        }
        (is_whole(*report) ? low : top) = middle;
    }
    for (int i = 0; i < kLongTries; ++i, low *= 0.95) {
        auto report = trial(run, low, duration);
        if (!report || is_whole(*report)) {
            return report;
        }
    }
    return fail(ErrorCode::kFailed, "no rate down to {:.0f}/s came back whole", low);
}

}  // namespace pathproof::bench
