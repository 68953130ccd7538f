#include "harness/compare/text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "dataplane/base/plural.h"
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

json differences_json(const std::vector<Difference>& all, const char* where, const char* what) {
    json list = json::array();
    for (const Difference& each : all) {
        list.push_back(
            {{where, each.where}, {what, each.what}, {"before", each.before}, {"now", each.now}});
    }
    return list;
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

std::string verdict_text(const Comparison& comparison) {
    std::string text;
    for (const Change change :
         {Change::kNewFailure, Change::kChangedCause, Change::kUnstable, Change::kFailureGone,
          Change::kFailsLess, Change::kAppeared, Change::kDisappeared, Change::kNotComparable}) {
        if (const std::size_t count = comparison.count(change); count != 0) {
            text += (text.empty() ? "" : ", ") + counted(change, count);
        }
    }
    const char* verdict = comparison.worse()           ? "WORSE"
                          : exit_code(comparison) != 0 ? "NOT COMPARABLE"
                                                       : "NO WORSE";
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
    text += "\nFigures:\n" + differences_text(comparison.figures);
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
                        {"differences", differences_json(comparison.differences, "where", "what")},
                        {"figures", differences_json(comparison.figures, "cell", "label")},
                        {"figures_within_noise", comparison.within_noise},
                        {"figures_without_interval", comparison.without_interval}});
    }
    return {{"schema", "pathproof-compare/1"}, {"before", before.file}, {"runs", runs}};
}

}  // namespace pathproof::compare
