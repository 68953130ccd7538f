// Statistics of a handful of rounds: medians, their spread, and ratios of medians with an interval.
#pragma once

#include <optional>
#include <vector>

namespace pathproof::bench {

struct Spread {
    double median = 0;
    double low = 0;   // smallest value
    double high = 0;  // largest value
    std::size_t count = 0;
};

// Returns nothing for no values. The median of an even number of values is the mean of the two in
// the middle.
std::optional<Spread> spread_of(std::vector<double> values);

struct Ratio {
    double value = 0;  // of the medians
    // 95 % percentile bootstrap (Efron, "Bootstrap methods", Annals of Statistics 7, 1979) over
    // both samples. Nothing with fewer than three values on a side: resampling two says nothing.
    std::optional<double> low;
    std::optional<double> high;
};

// median(above) / median(below). Nothing when a side is empty or median(below) is 0. The same
// values give the same interval: the resampling has a seed of its own.
std::optional<Ratio> ratio_of(const std::vector<double>& above, const std::vector<double>& below);

}  // namespace pathproof::bench
