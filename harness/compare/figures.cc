#include "harness/compare/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/compare/cells.h"
#include "harness/compare/shift.h"
#include "harness/report/text.h"

namespace pathproof::compare {
namespace {

using verdict::Cell;
using verdict::Measure;
using verdict::RunResult;
using verdict::ScenarioResult;

std::string figure_words(const Measure& measure) {
    const std::string value = report::format_value(measure);
    return !measure.interval
               ? value
               : fmt::format("{} [{}]", value,
                             report::format_interval(*measure.interval, measure.value.number()));
}

double median_of_trials(const Measure& measure) {
    return verdict::median_of(measure.trials).value;
}

std::string trials_words(const Measure& measure) {
    return fmt::format("{}{}{} [{} trials]", report::format_number(median_of_trials(measure)),
                       measure.unit.empty() ? "" : " ", measure.unit, measure.trials.size());
}

bool has_trials(const Measure& measure) {
    return measure.trials.size() > 1;
}

bool intervals_touch(const Measure& before, const Measure& now) {
    return before.interval->low <= now.interval->high && now.interval->low <= before.interval->high;
}

// A figure whose trials are tested together with those of all others.
struct Tested {
    Figure figure;
    ShiftTest test;
};

// Outside of what runs of one and the same system differ by: with its interval where it has one.
bool is_beyond_noise(const ShiftTest& test, double floor) {
    const double low = test.interval ? test.interval->low : test.difference;
    const double high = test.interval ? test.interval->high : test.difference;
    return floor == 0 || low > floor || high < -floor;
}

void judge_together(std::vector<Tested> all, Comparison& result) {
    std::vector<ShiftTest> tests;
    for (const Tested& each : all) {
        tests.push_back(each.test);
    }
    const std::vector<double> adjusted = adjusted_p(tests);
    const auto counted = static_cast<std::size_t>(std::count_if(
        tests.begin(), tests.end(), [](const ShiftTest& test) { return test.least_p <= kLevel; }));
    result.tested = counted;
    const double level = kLevel / static_cast<double>(std::max<std::size_t>(counted, 1));
    for (std::size_t at = 0; at < all.size(); ++at) {
        Figure& figure = all[at].figure;
        const ShiftTest& test = tests[at];
        figure.shift->adjusted_p = adjusted[at];
        if (const auto found = detectable(test, level)) {
            figure.shift->detectable = *found + figure.shift->noise_floor;
        }
        const bool significant = test.least_p <= kLevel && adjusted[at] < kLevel;
        if (significant && is_beyond_noise(test, figure.shift->noise_floor)) {
            result.figures.push_back(std::move(figure));
        } else if (test.least_p > level && test.p < 1) {
            ++result.too_few_trials;
            result.unchanged.push_back(std::move(figure));
        } else {
            ++result.within_noise;
            result.unchanged.push_back(std::move(figure));
        }
    }
}

}  // namespace

void visit_common_figures(const RunResult& before, const RunResult& now,
                          const VisitFigures& visit) {
    const auto visit_numbers = [&](const std::string& cell, const Measure& old,
                                   const Measure& present) {
        if (old.value.is_number() && present.value.is_number() && old.unit == present.unit) {
            visit(cell, old, present);
        }
    };
    for (const ScenarioResult& scenario : now.scenarios) {
        const ScenarioResult* old_scenario = scenario_of(before, scenario.id);
        const Cells was = old_scenario != nullptr ? cells_of(*old_scenario) : Cells();
        for (const auto& [id, cell] : cells_of(scenario)) {
            const Cell* old = find(was, id);
            if (old == nullptr) {
                continue;
            }
            const std::string full_id = scenario.id + "/" + id;
            for (const Measure& measure : cell->measures) {
                const auto same = std::ranges::find(old->measures, measure.name, &Measure::name);
                if (same != old->measures.end()) {
                    visit_numbers(full_id, *same, measure);
                }
            }
            if (old->runs && cell->runs) {
                visit_numbers(full_id, share_of(*old->runs), share_of(*cell->runs));
            }
        }
    }
    if (before.prices == nullptr || now.prices == nullptr) {
        return;
    }
    for (const verdict::Cost& cost : now.prices->costs) {
        for (const verdict::Cost& old : before.prices->costs) {
            if (old.cure == cost.cure && old.load == cost.load && old.figure == cost.figure) {
                Measure was = old.with;
                Measure is = cost.with;
                was.name = is.name = cost.figure;
                visit_numbers(fmt::format("prices/{}/{}", cost.cure, cost.load), was, is);
            }
        }
    }
}

void compare_figures(const RunResult& before, const RunResult& now, const Noise& noise,
                     Comparison& result) {
    std::vector<Tested> tested;
    const auto compare = [&](const std::string& cell, const Measure& old, const Measure& present) {
        Figure figure{.cell = cell, .name = present.name, .label = present.label};
        if (has_trials(old) && has_trials(present)) {
            const ShiftTest test = test_shift(old.trials, present.trials);
            const bool by_intervals = test.least_p > kLevel && old.interval && present.interval;
            if (!by_intervals) {
                const auto floor = noise.floors.find(cell + "/" + present.name);
                figure.unit = present.unit;
                figure.before = trials_words(old);
                figure.now = trials_words(present);
                figure.shift = Shift{
                    .p = test.p,
                    .median = median_of_trials(present),
                    .difference = test.difference,
                    .interval = test.interval,
                    .noise_floor = floor == noise.floors.end() ? 0 : floor->second,
                };
                tested.push_back({std::move(figure), test});
                return;
            }
        }
        figure.unit = present.unit;
        figure.before = figure_words(old);
        figure.now = figure_words(present);
        if (!old.interval || !present.interval) {
            result.without_interval += old.value != present.value ? 1 : 0;
        } else if (intervals_touch(old, present)) {
            ++result.within_noise;
        } else {
            result.figures.push_back(std::move(figure));
        }
    };
    visit_common_figures(before, now, compare);
    judge_together(std::move(tested), result);
}

Noise noise_of(const std::vector<const RunResult*>& runs) {
    Noise noise;
    for (std::size_t one = 0; one < runs.size(); ++one) {
        for (std::size_t other = one + 1; other < runs.size(); ++other) {
            ++noise.pairs;
            visit_common_figures(
                *runs[one], *runs[other],
                [&](const std::string& cell, const Measure& old, const Measure& present) {
                    const double difference =
                        has_trials(old) && has_trials(present)
                            ? test_shift(old.trials, present.trials).difference
                            : present.value.number() - old.value.number();
                    double& floor = noise.floors[cell + "/" + present.name];
                    floor = std::max(floor, std::abs(difference));
                });
        }
    }
    return noise;
}

}  // namespace pathproof::compare
