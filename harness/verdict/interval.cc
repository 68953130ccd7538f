#include "harness/verdict/interval.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

namespace pathproof::verdict {
namespace {

// The 0.975 quantile of the normal distribution.
constexpr double kZ = 1.959963984540054;

// E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22
// (1927).
Interval wilson(double hits, double trials) {
    const double fraction = hits / trials;
    const double square = kZ * kZ / trials;
    const double centre = fraction + square / 2;
    const double reach = kZ * std::sqrt((fraction * (1 - fraction) + square / 4) / trials);
    return {std::max(0.0, (centre - reach) / (1 + square)),
            std::min(1.0, (centre + reach) / (1 + square))};
}

Interval percent(Interval fraction) {
    return {fraction.low * 100, fraction.high * 100};
}

double percent(std::uint64_t hits, std::uint64_t trials) {
    return 100 * static_cast<double>(hits) / static_cast<double>(trials);
}

bool countable(std::uint64_t hits, std::uint64_t trials) {
    return trials > 0 && hits <= trials;
}

}  // namespace

Interval fraction_interval(std::uint64_t hits, std::uint64_t trials) {
    if (!countable(hits, trials)) {
        return {0, 1};
    }
    const double count = static_cast<double>(trials);
    // The ends need the exact one-sided bound: 1 - 0.05^(1/n), of which 3/n is the upper estimate.
    if (hits == 0) {
        return {0, std::min(1.0, 3 / count)};
    }
    if (hits == trials) {
        return {std::max(0.0, 1 - 3 / count), 1};
    }
    return wilson(static_cast<double>(hits), count);
}

Measure share(std::string name, std::string label, std::uint64_t hits, std::uint64_t trials) {
    Measure measure{.name = std::move(name), .label = std::move(label), .unit = "%"};
    if (!countable(hits, trials)) {
        measure.note = trials == 0 ? "nothing was tried"
                                   : fmt::format("{} counted in {} trials", hits, trials);
        return measure;
    }
    measure.value = percent(hits, trials);
    measure.interval = percent(fraction_interval(hits, trials));
    measure.note = fmt::format("{} of {}", hits, trials);
    return measure;
}

Measure mean_of(std::string name, std::string label, const std::vector<double>& values,
                std::string unit) {
    Measure measure{.name = std::move(name), .label = std::move(label), .unit = std::move(unit)};
    if (values.empty()) {
        measure.note = "not measured";
        return measure;
    }
    const auto count = static_cast<double>(values.size());
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
    measure.value = mean;
    measure.note = fmt::format("mean of {}", values.size());
    measure.trials = values;
    if (values.size() > 1) {
        double squares = 0;
        for (const double value : values) {
            squares += (value - mean) * (value - mean);
        }
        const double deviation = std::sqrt(squares / (count - 1));
        const double reach = boost::math::quantile(boost::math::students_t(count - 1), 0.975) *
                             deviation / std::sqrt(count);
        measure.interval = Interval{mean - reach, mean + reach};
    }
    return measure;
}

Bar share_bar(std::string label, std::uint64_t hits, std::uint64_t trials, Bar::Kind kind) {
    if (!countable(hits, trials)) {
        return {.label = label + " (not measured)", .kind = Bar::Kind::kNeutral};
    }
    return {.label = std::move(label),
            .value = percent(hits, trials),
            .interval = percent(fraction_interval(hits, trials)),
            .kind = kind};
}

}  // namespace pathproof::verdict
