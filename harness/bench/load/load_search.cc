#include "harness/bench/load/load_search.h"

#include <algorithm>
#include <optional>

namespace pathproof::bench {
namespace {

constexpr auto kShort = std::chrono::milliseconds(100);
constexpr int kHalvings = 7;
// Near the rate of the short trials steps are small: so much is lost of the figure at most.
constexpr int kSmallSteps = 12;
constexpr double kSmallStep = 0.95;
constexpr double kLargeStep = 0.5;
constexpr double kLowest = 1'000;

double loss_of(const load::TrialReport& report) {
    return report.sent == 0
               ? 1
               : static_cast<double>(report.missing()) / static_cast<double>(report.sent);
}

bool is_whole(const load::TrialReport& report) {
    return report.sent > 0 && report.missing() == 0;
}

// As fast as it goes says what can arrive at most: answers stand in the way of queries, so the rate
// without loss is below that.
Result<double> ceiling(const TrialAt& trial) {
    const auto report = TRY(trial(0, kShort));
    if (is_whole(report)) {
        return report.achieved_pps;
    }
    return 1.2 * static_cast<double>(report.unique()) / std::max(report.sending_seconds, 1e-3);
}

// Halves the interval between a rate that is taken to come back whole and one that does not.
Result<double> halve(const TrialAt& trial, double top) {
    double low = kLowest;
    for (int i = 0; i < kHalvings; ++i) {
        const double middle = (low + top) / 2;
        const auto report = TRY(trial(middle, kShort));
        (is_whole(report) ? low : top) = middle;
    }
    return low;
}

// The lowest rate comes last, and is tried whatever the steps are; 0: there is none below.
double step_down(double rate, int steps) {
    if (rate <= kLowest) {
        return 0;
    }
    return std::max(kLowest, rate * (steps < kSmallSteps ? kSmallStep : kLargeStep));
}

}  // namespace

Result<FoundRate> search_without_loss(const TrialAt& trial, std::chrono::nanoseconds duration) {
    const auto top = ceiling(trial);
    const auto low = TRY(top ? halve(trial, std::max(*top, 2 * kLowest)) : pass_on(top.error()));
    std::optional<load::TrialReport> bounded;
    double least = 1;
    double least_at = low;
    int steps = 0;
    for (double rate = low; rate > 0; rate = step_down(rate, steps++)) {
        auto report = TRY(trial(rate, duration));
        if (is_whole(report)) {
            return FoundRate{.report = std::move(report)};
        }
        const double loss = loss_of(report);
        if (loss < least) {
            least = loss;
            least_at = rate;
        }
        if (!bounded && loss <= kLossBound) {
            bounded = std::move(report);
        }
    }
    if (!bounded) {
        return fail(ErrorCode::kFailed,
                    "no rate down to {:.0f}/s came back whole, nor with at most {:g} % lost: the "
                    "least loss was {:.3g} %, at {:.0f}/s",
                    kLowest, kLossBound * 100, least * 100, least_at);
    }
    return FoundRate{.report = std::move(*bounded), .loss_bound = kLossBound};
}

}  // namespace pathproof::bench
