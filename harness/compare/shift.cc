#include "harness/compare/shift.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <numeric>

namespace pathproof::compare {
namespace {

constexpr std::size_t kMostExact = 40;  // trials of both runs

double normal_quantile(double share) {
    return boost::math::quantile(boost::math::normal(), share);
}

// Twice the midranks of the pooled trials, those of `before` first: whole numbers.
std::vector<std::size_t> doubled_ranks(const std::vector<double>& before,
                                       const std::vector<double>& now) {
    std::vector<double> all = before;
    all.insert(all.end(), now.begin(), now.end());
    std::vector<double> sorted = all;
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::size_t> ranks;
    for (const double value : all) {
        const auto [low, high] = std::equal_range(sorted.begin(), sorted.end(), value);
        ranks.push_back(
            static_cast<std::size_t>((low - sorted.begin()) + 1 + (high - sorted.begin())));
    }
    return ranks;
}

// The number of choices of `chosen` ranks that have each sum.
std::vector<double> sums_of_choices(const std::vector<std::size_t>& ranks, std::size_t chosen) {
    const std::size_t most = std::accumulate(ranks.begin(), ranks.end(), std::size_t{0});
    std::vector<std::vector<double>> ways(chosen + 1, std::vector<double>(most + 1, 0.0));
    ways[0][0] = 1;
    for (const std::size_t rank : ranks) {
        for (std::size_t count = chosen; count > 0; --count) {
            for (std::size_t sum = most; sum >= rank; --sum) {
                ways[count][sum] += ways[count - 1][sum - rank];
            }
        }
    }
    return ways[chosen];
}

// P(|sum - mean| >= distance), all choices being as likely.
double chance_of(const std::vector<double>& ways, double mean, double distance) {
    double all = 0;
    double far = 0;
    for (std::size_t sum = 0; sum < ways.size(); ++sum) {
        all += ways[sum];
        far += std::abs(static_cast<double>(sum) - mean) >= distance - 1e-9 ? ways[sum] : 0;
    }
    return far / all;
}

// Approximates chance_of() by the normal distribution: `distance` in doubled ranks.
double normal_chance(const std::vector<std::size_t>& ranks, std::size_t chosen, double distance) {
    const auto n = static_cast<double>(ranks.size());
    const auto m = static_cast<double>(chosen);
    const double mean = n + 1;  // of a doubled rank
    double squares = 0;
    for (const std::size_t rank : ranks) {
        squares += (static_cast<double>(rank) - mean) * (static_cast<double>(rank) - mean);
    }
    const double variance = m * (n - m) / (n * (n - 1)) * squares;
    if (variance == 0) {
        return 1;
    }
    const double z = std::max(0.0, distance - 1) / std::sqrt(variance);
    return 2 * boost::math::cdf(boost::math::complement(boost::math::normal(), z));
}

// The number of smallest and of largest differences that lie outside of the interval of 1 - kLevel; 0: there is none.
std::size_t differences_cut(std::size_t before, std::size_t now) {
    const auto m = static_cast<double>(before);
    const auto n = static_cast<double>(now);
    if (before + now > kMostExact) {
        const double cut =
            m * n / 2 - normal_quantile(1 - kLevel / 2) * std::sqrt(m * n * (m + n + 1) / 12);
        return static_cast<std::size_t>(std::max(0.0, std::floor(cut)));
    }
    std::vector<std::size_t> ranks(before + now);
    std::iota(ranks.begin(), ranks.end(), std::size_t{1});
    const std::vector<double> ways = sums_of_choices(ranks, before);
    const double all = std::accumulate(ways.begin(), ways.end(), 0.0);
    std::size_t cut = 0;
    double below = 0;
    for (std::size_t sum = before * (before + 1) / 2; sum < ways.size(); ++sum, ++cut) {
        below += ways[sum];
        if (below / all > kLevel / 2) {
            break;
        }
    }
    return cut;
}

}  // namespace

ShiftTest test_shift(const std::vector<double>& before, const std::vector<double>& now) {
    const std::vector<std::size_t> ranks = doubled_ranks(before, now);
    const auto middle = static_cast<double>(before.size() * (ranks.size() + 1));
    const auto before_end = ranks.begin() + static_cast<std::ptrdiff_t>(before.size());
    const auto sum =
        static_cast<double>(std::accumulate(ranks.begin(), before_end, std::size_t{0}));
    std::vector<std::size_t> sorted = ranks;
    std::sort(sorted.begin(), sorted.end());
    const auto extreme = [&](auto from) {
        const auto end = from + static_cast<std::ptrdiff_t>(before.size());
        return std::abs(static_cast<double>(std::accumulate(from, end, std::size_t{0})) - middle);
    };
    const double farthest = std::max(extreme(sorted.begin()), extreme(sorted.rbegin()));
    ShiftTest test;
    if (ranks.size() <= kMostExact) {
        const std::vector<double> ways = sums_of_choices(ranks, before.size());
        test.p = chance_of(ways, middle, std::abs(sum - middle));
        test.least_p = chance_of(ways, middle, farthest);
    } else {
        test.p = normal_chance(ranks, before.size(), std::abs(sum - middle));
        test.least_p = normal_chance(ranks, before.size(), farthest);
    }
    std::vector<double> differences;
    for (const double was : before) {
        for (const double is : now) {
            differences.push_back(is - was);
        }
    }
    std::sort(differences.begin(), differences.end());
    const std::size_t count = differences.size();
    test.difference = (differences[(count - 1) / 2] + differences[count / 2]) / 2;
    if (const std::size_t cut = differences_cut(before.size(), now.size()); cut != 0) {
        test.interval = verdict::Interval{differences[cut - 1], differences[count - cut]};
    }
    return test;
}

std::vector<double> adjusted_p(const std::vector<ShiftTest>& tests) {
    std::vector<double> adjusted;
    std::vector<std::size_t> counted;
    for (std::size_t at = 0; at < tests.size(); ++at) {
        adjusted.push_back(tests[at].p);
        if (tests[at].least_p <= kLevel) {
            counted.push_back(at);
        }
    }
    std::sort(counted.begin(), counted.end(),
              [&](std::size_t one, std::size_t other) { return tests[one].p < tests[other].p; });
    double largest = 0;
    for (std::size_t rank = 0; rank < counted.size(); ++rank) {
        const auto left = static_cast<double>(counted.size() - rank);
        largest = std::max(largest, std::min(1.0, tests[counted[rank]].p * left));
        adjusted[counted[rank]] = largest;
    }
    return adjusted;
}

std::optional<double> detectable(const ShiftTest& test, double level) {
    if (!test.interval) {
        return std::nullopt;
    }
    const double error =
        (test.interval->high - test.interval->low) / 2 / normal_quantile(1 - kLevel / 2);
    return (normal_quantile(1 - level / 2) + normal_quantile(0.95)) * error;
}

std::size_t fewest_trials(std::size_t figures) {
    const double level = kLevel / static_cast<double>(std::max<std::size_t>(figures, 1));
    double choices = 2;  // C(2n, n)
    std::size_t trials = 1;
    while (2 / choices > level) {
        ++trials;
        const auto n = static_cast<double>(trials);
        choices *= (2 * n - 1) * 2 / n;
    }
    return trials;
}

}  // namespace pathproof::compare
