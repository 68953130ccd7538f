// Tests whether the trials of one run differ from those of another: a test that takes no distribution for granted, the
// size of the difference, and the correction for many figures.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "harness/verdict/result.h"

namespace pathproof::compare {

// The level of all tests of one comparison together (the family-wise error), and of each interval.
inline constexpr double kLevel = 0.05;

struct ShiftTest {
    // Two-sided p value of the Mann-Whitney U test (H. B. Mann, D. R. Whitney, Annals of Mathematical Statistics
    // 18(1), 1947): up to 40 trials exact, by counting all ways to divide the pooled ranks, ties as midranks; above that by
    // the normal distribution with corrections for ties and continuity.
    double p = 1;
    // The smallest p value that these trials could have given, however they had been divided between the runs.
    double least_p = 1;
    // Hodges-Lehmann estimate of now - before: the median of all differences of one trial of each (J. L. Hodges, E. L. Lehmann,
    // Annals of Mathematical Statistics 34(2), 1963), with the 95 % interval that belongs to the test (Hollander, Wolfe, Chicken,
    // Nonparametric Statistical Methods, 3rd edition, 4.3). No interval: there are too few trials for one.
    double difference = 0;
    std::optional<verdict::Interval> interval;
};

// Neither may be empty; values are finite.
ShiftTest test_shift(const std::vector<double>& before, const std::vector<double>& now);

// p values adjusted for their number by S. Holm's step-down procedure (Scandinavian Journal of Statistics 6(2), 1979), which holds
// whatever the dependence between figures. Tests whose `least_p` is above kLevel cannot be significant by any outcome: they stay
// as they are and do not count (R. E. Tarone, Biometrics 46(2), 1990). In the order of `tests`.
std::vector<double> adjusted_p(const std::vector<ShiftTest>& tests);

// The smallest difference that a test at `level` finds with 95 % probability, from the width of the interval: (z of the level +
// z of the power) standard errors. Nothing: there is no interval.
std::optional<double> detectable(const ShiftTest& test, double level);

// The fewest trials of each run with which `figures` tests can find anything at all: 2 / C(2n, n) <= kLevel / figures.
std::size_t fewest_trials(std::size_t figures);

}  // namespace pathproof::compare
