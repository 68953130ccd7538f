#include "harness/verdict/prices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pathproof::verdict {
namespace {

constexpr std::size_t kFewestRounds = 6;

std::string outcome_text(const ProbeOutcome& outcome) {
    if (outcome.verdict == CellVerdict::kPass) {
        return "passes";
    }
    return fmt::format("{}: {}",
                       outcome.verdict == CellVerdict::kFail ? "fails" : name(outcome.verdict),
                       outcome.reason);
}

bool tells(const ProbeOutcome& outcome) {
    return outcome.verdict == CellVerdict::kPass || outcome.verdict == CellVerdict::kFail;
}

std::string signed_number(double value) {
    return std::abs(value) >= 100 ? fmt::format("{:+.0f}", value) : fmt::format("{:+.3g}", value);
}

// The difference, with its interval, and what it is without the cure.
std::string figure_text(const Cost& cost) {
    const Measure& more = cost.more;
    const std::string text = more.interval
                                 ? fmt::format(" ({} to {})", signed_number(more.interval->low),
                                               signed_number(more.interval->high))
                                 : "";
    return fmt::format("{} {}{}, without it {}", signed_number(more.value.number()), more.unit,
                       text, signed_number(cost.without.value.number()).substr(1));
}

}  // namespace

const char* name(Effect effect) {
    switch (effect) {
        case Effect::kCures: return "cures";
        case Effect::kDoesNotTouch: return "does not touch";
        case Effect::kBreaks: return "breaks";
        case Effect::kNotMeasured: return "not measured";
        case Effect::kDoesNotApply: return "does not apply";
    }
    return "not measured";
}

const char* name(CostVerdict verdict) {
    switch (verdict) {
        case CostVerdict::kCosts: return "costs";
        case CostVerdict::kSaves: return "saves";
        case CostVerdict::kWithinNoise: return "within noise";
        case CostVerdict::kNotMeasured: return "not measured";
    }
    return "not measured";
}

PriceCell conclude_effect(const std::string& cure, const std::string& probe,
                          const std::vector<ProbeOutcome>& without, const ProbeOutcome& with) {
    PriceCell cell{.cure = cure, .probe = probe, .without = "", .with = "", .reason = ""};
    if (without.empty()) {
        cell.reason = "the probe was not run without the cure";
        return cell;
    }
    cell.without = outcome_text(without.front());
    cell.with = outcome_text(with);
    const bool fails = without.front().verdict == CellVerdict::kFail;
    for (const ProbeOutcome& each : without) {
        if (!tells(each)) {
            cell.reason = "without the cure: " + outcome_text(each);
            return cell;
        }
        if ((each.verdict == CellVerdict::kFail) != fails) {
            cell.reason = "without the cure it fails at one time and passes at another";
            return cell;
        }
    }
    if (!tells(with)) {
        cell.reason = "with the cure: " + outcome_text(with);
        return cell;
    }
    const bool fails_with = with.verdict == CellVerdict::kFail;
    cell.effect = Effect::kDoesNotTouch;
    if (fails && !fails_with) {
        cell.effect = Effect::kCures;
    } else if (fails_with && (!fails || with.otherwise)) {
        cell.effect = Effect::kBreaks;
    }
    return cell;
}

Median median_of(std::vector<double> values) {
    if (values.empty()) {
        return {};
    }
    std::ranges::sort(values);
    const std::size_t n = values.size();
    Median median{.value = n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2,
                  .interval = std::nullopt};
    // The most values below the lower end whose chance to all lie below the median is 2.5 % or less.
    double below = std::pow(0.5, static_cast<double>(n));  // P(none)
    double chance = below;
    std::size_t cut = 0;
    while (chance <= 0.025) {
        ++cut;
        below *= static_cast<double>(n - cut + 1) / static_cast<double>(cut);
        chance += below;
    }
    if (cut != 0) {
        median.interval = Interval{values[cut - 1], values[n - cut]};
    }
    return median;
}

Cost conclude_cost(const std::string& cure, const std::string& load, const CostFigure& figure,
                   const std::vector<double>& without, const std::vector<double>& with,
                   const std::string& lacks) {
    const auto measure = [&](const char* which, const std::vector<double>& rounds, bool there) {
        const Median median = median_of(rounds);
        return Measure{.name = which,
                       .label = figure.label,
                       .value = there ? Value(median.value) : Value(),
                       .unit = figure.unit,
                       .interval = there ? median.interval : std::nullopt,
                       .note = "",
                       .trials = rounds};
    };
    std::vector<double> more;
    for (std::size_t i = 0; i < std::min(without.size(), with.size()); ++i) {
        more.push_back(with[i] - without[i]);
    }
    const bool enough = more.size() >= kFewestRounds;
    Cost cost{.cure = cure,
              .load = load,
              .figure = figure.name,
              .without = measure("without", without, enough),
              .with = measure("with", with, enough),
              .more = measure("more", more, enough)};
    if (!enough) {
        cost.more.note = !lacks.empty() ? lacks
                                        : fmt::format("{} of {} rounds came to a result",
                                                      more.size(), kFewestRounds);
        return cost;
    }
    const Interval& interval = *cost.more.interval;
    if (interval.low <= 0 && interval.high >= 0) {
        cost.verdict = CostVerdict::kWithinNoise;
        return cost;
    }
    const bool saves = (interval.low > 0) == figure.more_is_better;
    cost.verdict = saves ? CostVerdict::kSaves : CostVerdict::kCosts;
    return cost;
}

std::vector<std::string> side_effects(const PriceTable& table, const std::string& cure) {
    std::vector<std::string> clauses;
    for (const PriceCell& cell : table.cells) {
        if (cell.cure == cure && cell.effect == Effect::kBreaks) {
            clauses.push_back(fmt::format("breaks {} ({})", cell.probe, cell.with));
        }
    }
    for (const Cost& cost : table.costs) {
        if (cost.cure == cure && cost.verdict == CostVerdict::kCosts) {
            clauses.push_back(
                fmt::format("{} of {}: {}", cost.more.label, cost.load, figure_text(cost)));
        }
    }
    return clauses;
}

PriceCount count_measured(const PriceTable& table, const std::string& cure) {
    PriceCount count;
    for (const PriceCell& cell : table.cells) {
        if (cell.cure == cure && cell.effect != Effect::kDoesNotApply) {
            ++(cell.effect == Effect::kNotMeasured ? count.without_result : count.probes);
        }
    }
    for (const Cost& cost : table.costs) {
        count.figures += cost.cure == cure && cost.verdict != CostVerdict::kNotMeasured ? 1 : 0;
    }
    return count;
}

}  // namespace pathproof::verdict
