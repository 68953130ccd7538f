#include "harness/compare/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "dataplane/base/plural.h"
#include "harness/compare/shift.h"
#include "harness/report/text.h"

namespace pathproof::compare {
namespace {

using json = nlohmann::ordered_json;
using report::wrap;

constexpr std::size_t kWidth = 100;

std::string of_run(const Report& report) {
    return fmt::format("{} ({}, {})", report.file, verdict::name(report.run.verdict),
                       report.run.started_at);
}

// A list's item: its other lines are set in.
std::string item(const std::string& text) {
    return "  " + wrap(text, kWidth, 6) + "\n";
}

std::string changes_text(const Comparison& comparison) {
    std::string text;
    for (const Changed& each : comparison.changed) {
        text += item(
            fmt::format("{}  {}: {} -> {}", name(each.change), each.id, each.before, each.now));
        for (const std::string& said :
             {each.reason, each.known.empty() ? "" : "known: " + each.known}) {
            text += said.empty() ? "" : "      " + wrap(said, kWidth, 6) + "\n";
        }
    }
    return text;
}

std::string differences_text(const std::vector<Difference>& all) {
    std::string text;
    for (const Difference& each : all) {
        text += item(fmt::format("{}: {}: {} -> {}", each.where, each.what, each.before, each.now));
    }
    return text;
}

json differences_json(const std::vector<Difference>& all) {
    json list = json::array();
    for (const Difference& each : all) {
        list.push_back({{"where", each.where},
                        {"what", each.what},
                        {"before", each.before},
                        {"now", each.now}});
    }
    return list;
}

json figure_json(const Figure& figure) {
    json out = {{"cell", figure.cell},
                {"figure", figure.name},
                {"label", figure.label},
                {"unit", figure.unit},
                {"before", figure.before},
                {"now", figure.now},
                {"method", figure.shift ? "Mann-Whitney" : "intervals"}};
    if (figure.shift) {
        const Shift& shift = *figure.shift;
        out["p"] = shift.p;
        out["p_adjusted"] = shift.adjusted_p;
        out["difference"] = shift.difference;
        out["interval"] = shift.interval
                              ? json{{"low", shift.interval->low}, {"high", shift.interval->high}}
                              : json(nullptr);
        out["noise_floor"] = shift.noise_floor;
        out["detectable"] = shift.detectable ? json(*shift.detectable) : json(nullptr);
    }
    return out;
}

json figures_json(const std::vector<Figure>& figures) {
    json list = json::array();
    for (const Figure& figure : figures) {
        list.push_back(figure_json(figure));
    }
    return list;
}

std::string figures_text(const Comparison& comparison) {
    std::string text;
    for (const Figure& each : comparison.figures) {
        text += item(fmt::format("{}: {}: {} -> {}{}", each.cell, each.label, each.before, each.now,
                                 each.shift ? "; " + shift_text(each) : ""));
    }
    return text;
}

std::string power_words(const Figure& figure, double share) {
    return fmt::format("{} % ({}: {})", report::format_number(std::round(share * 1000) / 10),
                       figure.cell, figure.label);
}

// The differences that the trials of figures which did not change could have shown.
std::string power_text(const Comparison& comparison) {
    std::string text;
    if (comparison.too_few_trials != 0) {
        const std::size_t figures = std::max(comparison.tested, comparison.too_few_trials);
        text +=
            item(fmt::format("{}: too few trials for a difference to count; with {} of them in "
                             "each run (--repeat) {} "
                             "can",
                             plural(comparison.too_few_trials, "figure"), fewest_trials(figures),
                             figures == 1 ? "it" : fmt::format("one among {}", figures)));
    }
    std::vector<std::pair<double, const Figure*>> shares;
    for (const Figure& each : comparison.unchanged) {
        const Shift& shift = *each.shift;
        if (shift.detectable && *shift.detectable > 0 && shift.median != 0) {
            shares.emplace_back(*shift.detectable / std::abs(shift.median), &each);
        }
    }
    if (shares.empty()) {
        return text;
    }
    std::sort(shares.begin(), shares.end());
    const auto& [least, most_exact] = shares.front();
    if (shares.size() == 1) {
        return text + item("smallest difference that would have been found: " +
                           power_words(*most_exact, least));
    }
    return text +
           item(fmt::format(
               "smallest differences that would have been found: from {} over {} % for half of "
               "the figures to {}",
               power_words(*most_exact, least),
               report::format_number(std::round(shares[shares.size() / 2].first * 1000) / 10),
               power_words(*shares.back().second, shares.back().first)));
}

// "1 new failure", "2 new failures", "2 became unstable".
std::string counted(Change change, std::size_t count) {
    switch (change) {
        case Change::kNewFailure:
        case Change::kChangedCause: return plural(count, name(change));
        case Change::kFailureGone: return plural(count, "failure") + " gone";
        case Change::kFailsLess:
            return fmt::format("{} {} less often", count, count == 1 ? "fails" : "fail");
        case Change::kUnstable:
        case Change::kAppeared:
        case Change::kDisappeared:
        case Change::kNotComparable: break;
    }
    return fmt::format("{} {}", count, name(change));
}

}  // namespace

std::string shift_text(const Figure& figure) {
    const Shift& shift = *figure.shift;
    const std::string unit = figure.unit.empty() ? "" : " " + figure.unit;
    const auto number = [](double value) {
        return (value > 0 ? "+" : "") + report::format_number(value);
    };
    std::string text = "difference " + number(shift.difference) + unit;
    if (shift.interval) {
        text +=
            fmt::format(" [{} to {}]", number(shift.interval->low), number(shift.interval->high));
    }
    text += fmt::format(", p {:.2g}", shift.adjusted_p);
    return shift.noise_floor == 0
               ? text
               : text + fmt::format(", noise floor {}{}", report::format_number(shift.noise_floor),
                                    unit);
}

std::string verdict_text(const Comparison& comparison) {
    std::string text;
    for (const Change change :
         {Change::kNewFailure, Change::kChangedCause, Change::kUnstable, Change::kFailureGone,
          Change::kFailsLess, Change::kAppeared, Change::kDisappeared, Change::kNotComparable}) {
        if (const std::size_t count = comparison.count(change); count != 0) {
            text += (text.empty() ? "" : ", ") + counted(change, count);
        }
    }
    const char* verdict = "NO WORSE";
    if (comparison.worse()) {
        verdict = "WORSE";
    } else if (exit_code(comparison) != 0) {
        verdict = "NOT COMPARABLE";
    }
    return text.empty() ? fmt::format("{}: every verdict is as it was", verdict)
                        : fmt::format("{}: {}", verdict, text);
}

std::string text(const Report& before, const Compared& now) {
    const Comparison& comparison = now.comparison;
    std::string text = fmt::format("before  {}\nnow     {}\n\n{}\n", of_run(before),
                                   of_run(*now.report), wrap(verdict_text(comparison), kWidth, 0));
    text += changes_text(comparison);
    text += fmt::format("  {} as before{}\n", plural(comparison.same_cells, "cell"),
                        comparison.failing_in_both == 0
                            ? ""
                            : fmt::format(", of which {} fail in both by the same cause",
                                          comparison.failing_in_both));
    if (!comparison.differences.empty()) {
        text += comparison.changed.empty() ? "\nWhat is not the same:\n"
                                           : "\nCandidates, as they are not the same:\n";
        text += differences_text(comparison.differences);
    }
    text += "\nFigures:\n" + figures_text(comparison) + power_text(comparison);
    return text + fmt::format(
                      "  {} changed; {} within noise; {} differ and have no interval to "
                      "judge them by\n",
                      comparison.figures.size(), comparison.within_noise,
                      comparison.without_interval);
}

json to_json(const Report& before, const std::vector<Compared>& all) {
    json runs = json::array();
    for (const Compared& now : all) {
        const Comparison& comparison = now.comparison;
        json changed = json::array();
        for (const Changed& each : comparison.changed) {
            changed.push_back({{"change", name(each.change)},
                               {"id", each.id},
                               {"before", each.before},
                               {"now", each.now},
                               {"reason", each.reason},
                               {"known", each.known}});
        }
        runs.push_back({{"now", now.report->file},
                        {"exit_code", exit_code(comparison)},
                        {"changed", changed},
                        {"same_cells", comparison.same_cells},
                        {"failing_in_both", comparison.failing_in_both},
                        {"differences", differences_json(comparison.differences)},
                        {"figures", figures_json(comparison.figures)},
                        {"figures_unchanged", figures_json(comparison.unchanged)},
                        {"figures_tested", comparison.tested},
                        {"figures_with_too_few_trials", comparison.too_few_trials},
                        {"figures_within_noise", comparison.within_noise},
                        {"figures_without_interval", comparison.without_interval}});
    }
    return {{"schema", "pathproof-compare/1"}, {"before", before.file}, {"runs", runs}};
}

}  // namespace pathproof::compare
