#include "harness/history/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "dataplane/base/plural.h"
#include "harness/report/text.h"
#include "harness/verdict/interval.h"

namespace pathproof::history {
namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t kWidth = 100;

std::string list_item(const std::string& text, std::size_t indent) {
    return std::string(indent, ' ') + report::wrap(text, kWidth, indent + 4) + "\n";
}

std::string cells_words(const RunRow& run) {
    return fmt::format("{} passed, {} failed{}", run.passed, run.failed,
                       run.others == 0 ? "" : fmt::format(", {} neither", run.others));
}

std::string with_unit(double value, const std::string& unit) {
    return report::format_number(value) + (unit.empty() ? "" : " " + unit);
}

// "▁▁▂▇": the newest values, from the least to the most of them.
std::string sparkline(const std::vector<double>& values) {
    constexpr std::array<const char*, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    constexpr std::size_t kMost = 60;
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    std::string line;
    for (std::size_t at = values.size() - std::min(values.size(), kMost); at < values.size();
         ++at) {
        const double share = *high > *low ? (values[at] - *low) / (*high - *low) : 0;
        line += kBlocks[std::min<std::size_t>(7, static_cast<std::size_t>(share * 8))];
    }
    return line;
}

std::string short_id(const RunRow& run) {
    return run.id.substr(0, 8);
}

std::string change_words(const FigureTrend& trend, const ChangePoint& change) {
    return fmt::format("{} -> {} from run {} ({}) on, p {:.2g}",
                       with_unit(change.before, trend.unit), with_unit(change.after, trend.unit),
                       short_id(*trend.runs[change.at]), trend.runs[change.at]->started_at,
                       change.p);
}

std::string figure_text(const FigureTrend& trend) {
    std::string text =
        list_item(fmt::format("{}: {} in {}", trend.id, with_unit(trend.values.back(), trend.unit),
                              plural(trend.values.size(), "run")),
                  2);
    text += list_item(trend.line, 4) + "    " + sparkline(trend.values) + "\n";
    for (const ChangePoint& change : trend.changes) {
        text += list_item(change_words(trend, change), 4);
    }
    return text;
}

verdict::Measure flip_share(const CellTrend& trend) {
    return verdict::share("flip_rate", "flips", trend.flips, trend.pairs);
}

std::string flake_text(const CellTrend& trend) {
    const verdict::Measure share = flip_share(trend);
    return list_item(fmt::format("{}: {} of {} in succession on one environment differ: {} [{}]",
                                 trend.id, trend.flips, plural(trend.pairs, "pair") + " of runs",
                                 report::format_value(share),
                                 report::format_interval(*share.interval, share.value.number())),
                     2);
}

std::string regression_text(const Regression& regression) {
    const CellTrend& cell = *regression.cell;
    const std::string since =
        fmt::format("{} ({})", short_id(*cell.first_bad), cell.first_bad->started_at);
    std::string text = list_item(
        cell.last_good != nullptr
            ? fmt::format("{}: fails since run {}; last good run {} ({})", cell.id, since,
                          short_id(*cell.last_good), cell.last_good->started_at)
            : fmt::format("{}: fails since run {}, the first of this history", cell.id, since),
        2);
    constexpr std::size_t kMostDifferences = 8;
    for (std::size_t at = 0; at < std::min(regression.differences.size(), kMostDifferences); ++at) {
        const compare::Difference& each = regression.differences[at];
        text += list_item(fmt::format("not the same: {}: {}: {} -> {}", each.where, each.what,
                                      each.before, each.now),
                          6);
    }
    if (regression.differences.size() > kMostDifferences) {
        text += list_item(fmt::format("and {} more differences",
                                      regression.differences.size() - kMostDifferences),
                          6);
    }
    return text;
}

std::string csv_field(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) {
        return text;
    }
    std::string quoted = "\"";
    for (const char each : text) {
        quoted += each == '"' ? "\"\"" : std::string(1, each);
    }
    return quoted + "\"";
}

json interval_json(const std::optional<verdict::Interval>& interval) {
    return interval ? json{{"low", interval->low}, {"high", interval->high}} : json(nullptr);
}

}  // namespace

std::string list_text(const std::vector<RunRow>& runs, std::int64_t all) {
    std::string text;
    for (const RunRow& run : runs) {
        text += fmt::format("{}  {}  {:<23}  {:<32}  {}{}\n", short_id(run), run.started_at,
                            run.verdict, cells_words(run), run.lab,
                            run.device.empty() ? "" : "  " + run.device);
    }
    return static_cast<std::int64_t>(runs.size()) == all
               ? text
               : text + fmt::format("{} of {}\n", runs.size(),
                                    plural(static_cast<std::uint64_t>(all), "run"));
}

std::string show_text(const RunRow& run, const std::vector<CellRow>& cells,
                      const std::vector<FigureRow>& figures) {
    std::string text =
        fmt::format("run       {}\nbegun     {}, {:.0f} s\nverdict   {}{}\n", run.id,
                    run.started_at, run.seconds, run.verdict,
                    run.exit_code ? fmt::format(" (exit code {})", *run.exit_code) : "");
    const auto line = [&](const char* name, const std::string& value) {
        if (!value.empty()) {
            text += fmt::format("{:<10}{}\n", name, report::wrap(value, kWidth, 10));
        }
    };
    line("reason", run.reason);
    line("lab", run.lab + ", " + run.evidence_class + " evidence");
    line("device", run.device);
    line("kernel", run.kernel);
    line("tool", "pathproof " + run.version);
    line("repeat", run.command);
    line("cells", cells_words(run));
    for (const CellRow& cell : cells) {
        if (cell.verdict != "PASS") {
            text += list_item(fmt::format("{}  {}{}", cell.verdict, cell.id,
                                          cell.cause.empty() ? "" : "/" + cell.cause),
                              2);
        }
    }
    return text + fmt::format("figures   {} (--json has them)\n", figures.size());
}

std::string trend_text(const Trends& trends, const std::vector<Regression>& regressions,
                       bool every) {
    std::string text = fmt::format("{}\n", plural(trends.runs, "run"));
    if (!regressions.empty()) {
        text += "\nCells that fail now:\n";
    }
    for (const Regression& regression : regressions) {
        text += regression_text(regression);
    }
    std::string flaky;
    for (const CellTrend& cell : trends.cells) {
        flaky += cell.flips != 0 || (every && cell.pairs != 0) ? flake_text(cell) : "";
    }
    text += flaky.empty() ? "" : "\nFlakes:\n" + flaky;
    std::string figures;
    std::size_t steady = 0;
    for (const FigureTrend& figure : trends.figures) {
        const bool is_listed = every || !figure.changes.empty();
        figures += is_listed ? figure_text(figure) : "";
        steady += figure.changes.empty() ? 1 : 0;
    }
    text += figures.empty() ? "" : "\nFigures:\n" + figures;
    return text +
           fmt::format("\n{} without a change of level (Pettitt's test, 5 % for all {} together)\n",
                       plural(steady, "figure"), trends.figures.size());
}

json to_json(const RunRow& run) {
    return {{"id", run.id},
            {"started_at", run.started_at},
            {"seconds", run.seconds},
            {"version", run.version},
            {"command", run.command},
            {"lab", run.lab},
            {"profile", run.profile},
            {"evidence_class", run.evidence_class},
            {"device", run.device},
            {"kernel", run.kernel},
            {"verdict", run.verdict},
            {"exit_code", run.exit_code ? json(*run.exit_code) : json(nullptr)},
            {"passed", run.passed},
            {"failed", run.failed},
            {"others", run.others},
            {"reason", run.reason}};
}

json to_json(const RunRow& run, const std::vector<CellRow>& cells,
             const std::vector<FigureRow>& figures) {
    json out = to_json(run);
    out["cells"] = json::array();
    for (const CellRow& cell : cells) {
        out["cells"].push_back({{"id", cell.id}, {"verdict", cell.verdict}, {"cause", cell.cause}});
    }
    out["figures"] = json::array();
    for (const FigureRow& figure : figures) {
        out["figures"].push_back({{"id", figure.id},
                                  {"value", figure.value},
                                  {"interval", interval_json(figure.interval)},
                                  {"unit", figure.unit},
                                  {"trials", figure.trials}});
    }
    return out;
}

json to_json(const Trends& trends, const std::vector<Regression>& regressions) {
    json figures = json::array();
    for (const FigureTrend& trend : trends.figures) {
        json changes = json::array();
        for (const ChangePoint& change : trend.changes) {
            changes.push_back({{"run", trend.runs[change.at]->id},
                               {"at", trend.runs[change.at]->started_at},
                               {"before", change.before},
                               {"after", change.after},
                               {"p", change.p}});
        }
        json runs = json::array();
        for (const RunRow* run : trend.runs) {
            runs.push_back(run->id);
        }
        figures.push_back({{"id", trend.id},
                           {"line", trend.line},
                           {"unit", trend.unit},
                           {"runs", std::move(runs)},
                           {"values", trend.values},
                           {"changes", std::move(changes)}});
    }
    json cells = json::array();
    for (const CellTrend& trend : trends.cells) {
        cells.push_back(
            {{"id", trend.id},
             {"line", trend.line},
             {"runs", trend.runs.size()},
             {"failed", std::count(trend.failed.begin(), trend.failed.end(), true)},
             {"flips", trend.flips},
             {"pairs", trend.pairs},
             {"first_bad", trend.first_bad != nullptr ? json(trend.first_bad->id) : json(nullptr)},
             {"last_good",
              trend.last_good != nullptr ? json(trend.last_good->id) : json(nullptr)}});
    }
    json causes = json::array();
    for (const Regression& regression : regressions) {
        for (const compare::Difference& each : regression.differences) {
            causes.push_back({{"cell", regression.cell->id},
                              {"where", each.where},
                              {"what", each.what},
                              {"before", each.before},
                              {"now", each.now}});
        }
    }
    return {{"schema", "pathproof-trend/1"},
            {"method", "Pettitt 1979, binary segmentation, 5 % for all figures together"},
            {"runs", trends.runs},
            {"figures", std::move(figures)},
            {"cells", std::move(cells)},
            {"candidates", std::move(causes)}};
}

std::string csv_head() {
    return "run,started_at,lab,device,kernel,version,kind,id,verdict,cause,value,low,high,unit,"
           "trials\r\n";
}

std::string csv_lines(const RunRow& run, const std::vector<CellRow>& cells,
                      const std::vector<FigureRow>& figures) {
    const std::string head =
        fmt::format("{},{},{},{},{},{}", run.id, run.started_at, csv_field(run.lab),
                    csv_field(run.device), csv_field(run.kernel), csv_field(run.version));
    std::string text;
    for (const CellRow& cell : cells) {
        text += fmt::format("{},cell,{},{},{},,,,,\r\n", head, csv_field(cell.id), cell.verdict,
                            csv_field(cell.cause));
    }
    for (const FigureRow& figure : figures) {
        const auto end = [](bool there, double value) {
            return there ? fmt::format("{}", value) : std::string();
        };
        const bool bounded = figure.interval.has_value();
        text += fmt::format("{},figure,{},,,{},{},{},{},{}\r\n", head, csv_field(figure.id),
                            figure.value, end(bounded, bounded ? figure.interval->low : 0),
                            end(bounded, bounded ? figure.interval->high : 0),
                            csv_field(figure.unit), fmt::join(figure.trials, " "));
    }
    return text;
}

}  // namespace pathproof::history
