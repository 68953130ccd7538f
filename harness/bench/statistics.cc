#include "harness/bench/statistics.h"

#include <algorithm>
#include <random>

namespace pathproof::bench {
namespace {

constexpr std::size_t kResamples = 2000;
constexpr std::size_t kFewestForInterval = 3;
constexpr std::uint64_t kSeed = 20;

// Sorts `values`, which must not be empty.
double median(std::vector<double>& values) {
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    if (values.size() % 2 == 1) {
        return values[middle];
    }
    return (values[middle - 1] + values[middle]) / 2;
}

double resampled_median(const std::vector<double>& values, std::vector<double>& scratch,
                        std::mt19937_64& random) {
    std::uniform_int_distribution<std::size_t> pick(0, values.size() - 1);
    scratch.resize(values.size());
    std::generate(scratch.begin(), scratch.end(), [&] { return values[pick(random)]; });
    return median(scratch);
}

}  // namespace

std::optional<Spread> spread_of(std::vector<double> values) {
    if (values.empty()) {
        return std::nullopt;
    }
    const double middle = median(values);
    return Spread{
        .median = middle, .low = values.front(), .high = values.back(), .count = values.size()};
}

std::optional<Ratio> ratio_of(const std::vector<double>& above, const std::vector<double>& below) {
    const auto top = spread_of(above);
    const auto bottom = spread_of(below);
    if (!top || !bottom || bottom->median == 0) {
        return std::nullopt;
    }
    Ratio ratio{.value = top->median / bottom->median};
    if (std::min(above.size(), below.size()) < kFewestForInterval) {
        return ratio;
    }
    std::mt19937_64 random(kSeed);
    std::vector<double> ratios;
    std::vector<double> scratch;
    for (std::size_t i = 0; i < kResamples; ++i) {
        const double over = resampled_median(above, scratch, random);
        const double under = resampled_median(below, scratch, random);
        if (under != 0) {
            ratios.push_back(over / under);
        }
    }
    if (ratios.size() < kResamples) {
        return ratio;
    }
    std::sort(ratios.begin(), ratios.end());
    ratio.low = ratios[kResamples * 25 / 1000];
    ratio.high = ratios[kResamples * 975 / 1000 - 1];
    return ratio;
}

}  // namespace pathproof::bench
