// pathproof history: the runs of this machine or laboratory over time.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "dataplane/base/file.h"
#include "dataplane/base/new_file.h"
#include "dataplane/base/plural.h"
#include "harness/cli/commands.h"
#include "harness/compare/read.h"
#include "harness/history/digest.h"
#include "harness/history/pending.h"
#include "harness/history/text.h"
#include "harness/process/json_text.h"
#include "harness/process/log.h"

namespace pathproof::cli {
namespace {

struct HistoryOptions {
    std::string target;
    history::Filter filter;
    bool json = false;
};

struct HistoryListOptions : HistoryOptions {};

struct HistoryShowOptions : HistoryOptions {
    std::string run;
};

struct HistoryTrendOptions : HistoryOptions {
    std::vector<std::string> patterns;
};

struct HistoryExportOptions : HistoryOptions {
    std::string format = "json";
    std::string out;
};

struct HistoryImportOptions {
    std::string target;
    std::vector<std::string> reports;
};

// Opens a history to be read, with the runs that wait for it.
Result<history::Store> open_history(const std::string& text) {
    const auto target = TRY(history::parse_target(text));
    std::error_code none;
    const bool waits = std::filesystem::exists(target.pending, none);
    auto store = TRY(
        history::Store::open(target, waits ? history::Access::kCreate : history::Access::kRead));
    if (waits && !store.is_read_only()) {
        for (const std::string& problem : add_pending(store, target).problems) {
            process::log(problem);
        }
    }
    return store;
}

Result<int> list_history(const HistoryListOptions& options) {
    auto store = TRY(open_history(options.target));
    const auto runs = TRY(store.list(options.filter));
    if (options.json) {
        for (const history::RunRow& run : runs) {
            fmt::print("{}\n", process::to_text(history::to_json(run)));
        }
        return 0;
    }
    fmt::print("{}", history::list_text(runs, TRY(store.count())));
    return 0;
}

Result<int> show_run(const HistoryShowOptions& options) {
    auto store = TRY(open_history(options.target));
    const auto run = TRY(store.find(options.run));
    const auto cells = TRY(store.cells(run));
    const auto figures = TRY(store.figures(run));
    if (options.json) {
        fmt::print("{}\n", process::to_text(history::to_json(run, cells, figures), 2));
    } else {
        fmt::print("{}", history::show_text(run, cells, figures));
    }
    return 0;
}

// Differences between the environments of a cell's last good and its first bad run.
Result<std::vector<compare::Difference>> differences_at(history::Store& store,
                                                        const history::CellTrend& cell) {
    if (cell.last_good == nullptr || !cell.last_good->environment || !cell.first_bad->environment) {
        return std::vector<compare::Difference>();
    }
    verdict::RunResult was;
    verdict::RunResult is;
    was.environment = TRY(store.environment(*cell.last_good->environment));
    is.environment = TRY(store.environment(*cell.first_bad->environment));
    was.version = cell.last_good->version;
    is.version = cell.first_bad->version;
    return compare::differences(was, is);
}

Result<int> show_trends(const HistoryTrendOptions& options) {
    auto store = TRY(open_history(options.target));
    const auto runs = TRY(store.list(options.filter));
    const auto trends = TRY(history::trends_of(store, runs, options.filter, options.patterns));
    if (trends.figures.empty() && trends.cells.empty()) {
        return fail(
            ErrorCode::kNotFound,
            "no cell or figure of {} fits; ids are as in 'pathproof history show RUN --json'",
            plural(runs.size(), "run"));
    }
    std::vector<history::Regression> regressions;
    for (const history::CellTrend& cell : trends.cells) {
        if (cell.first_bad != nullptr) {
            auto differences = TRY(differences_at(store, cell));
            regressions.push_back({&cell, std::move(differences)});
        }
    }
    if (options.json) {
        fmt::print("{}\n", process::to_text(history::to_json(trends, regressions), 2));
    } else {
        fmt::print("{}", history::trend_text(trends, regressions, !options.patterns.empty()));
    }
    return 0;
}

// Hands the export to `write` run by run: a history may be larger than the memory.
template <typename Write>
Status export_to(history::Store& store, const HistoryExportOptions& options, const Write& write) {
    const bool csv = options.format == "csv";
    if (csv) {
        TRY(write(history::csv_head()));
    }
    const auto runs = TRY(store.list(options.filter));
    for (const history::RunRow& run : runs) {
        const auto cells = TRY(store.cells(run));
        const auto figures = TRY(store.figures(run));
        TRY(write(csv ? history::csv_lines(run, cells, figures)
                      : process::to_text(history::to_json(run, cells, figures)) + "\n"));
    }
    return {};
}

Result<int> export_runs(const HistoryExportOptions& options) {
    auto store = TRY(open_history(options.target));
    if (options.out.empty()) {
        TRY(export_to(store, options, [](const std::string& text) -> Status {
            fmt::print("{}", text);
            return {};
        }));
        return 0;
    }
    auto file = TRY(NewFile::beside(options.out));
    TRY(export_to(store, options, [&](const std::string& text) { return file.write(text); }));
    TRY(file.put_in_place());
    return 0;
}

// A report, with an id of its contents where it has none of its own.
Result<bool> import_report(history::Store& store, const std::string& path) {
    auto report = TRY(compare::read_report(path));
    if (report.run.id.empty()) {
        report.run.id = history::uuid_of(TRY(read_file(report.file)));
    }
    return store.add(report.run, std::nullopt);
}

Result<int> import_reports(const HistoryImportOptions& options) {
    const auto target = TRY(history::parse_target(options.target));
    // All of them are read before the history is touched.
    std::vector<std::string> reports;
    for (const std::string& path : options.reports) {
        auto read = compare::read_report(path);
        if (!read) {
            return pass_on(read.error());
        }
        reports.push_back(path);
    }
    auto store = TRY(history::Store::open(target, history::Access::kCreate));
    std::size_t added = 0;
    for (const std::string& path : reports) {
        added += TRY(import_report(store, path)) ? 1 : 0;
    }
    fmt::print("{}: {} added, {} there already\n", target.shown, added, reports.size() - added);
    return 0;
}

void add_target_option(CLI::App& command, std::string& target) {
    command
        .add_option(
            "--history", target,
            "the history: a SQLite file, or postgresql://HOST/DATABASE (default: history.db "
            "in ~/.local/state/pathproof)")
        ->type_name("FILE|URI");
}

void add_filter_options(CLI::App& command, history::Filter& filter) {
    command.add_option("--device", filter.device, "runs whose device fits this pattern ('*ice*')");
    command.add_option("--lab", filter.lab, "runs of this lab (a pattern)");
    command.add_option("--verdict", filter.verdict, "runs of this verdict, as the list has it");
    const auto is_date = CLI::Validator(
        [](std::string& text) {
            const bool fits = text.size() == 10 && text[4] == '-' && text[7] == '-' &&
                              text.find_first_not_of("0123456789-") == std::string::npos;
            return fits ? std::string() : "a date is written as 2026-11-28, not '" + text + "'";
        },
        "YYYY-MM-DD");
    command.add_option("--since", filter.since, "runs from this day on")->check(is_date);
    command.add_option("--until", filter.until, "runs up to this day")->check(is_date);
}

void add_json_flag(CLI::App& command, bool& as_json, const char* help) {
    command.add_flag("--json", as_json, help);
}

}  // namespace

void add_history(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand(
        "history", "Runs over time: what changed its level, what is flaky, where it first failed");
    command->require_subcommand(1);

    CLI::App* list = command->add_subcommand("list", "The runs, newest first");
    const auto listed = options_for<HistoryListOptions>(*list, chosen, list_history);
    listed->filter.last = 50;
    add_target_option(*list, listed->target);
    add_filter_options(*list, listed->filter);
    list->add_option("--limit", listed->filter.last, "the newest so many (0: all)")
        ->check(CLI::Range(std::size_t{0}, std::size_t{100'000'000}))
        ->capture_default_str();
    add_json_flag(*list, listed->json, "a line of JSON a run");

    CLI::App* show = command->add_subcommand("show", "One run");
    const auto shown = options_for<HistoryShowOptions>(*show, chosen, show_run);
    show->add_option("RUN", shown->run, "the beginning of its id")->required();
    add_target_option(*show, shown->target);
    add_json_flag(*show, shown->json, "as JSON, with all cells and figures");

    CLI::App* trend = command->add_subcommand(
        "trend",
        "Cells that fail now and since when, flakes, and figures whose level changed (Pettitt's "
        "test)");
    const auto trends = options_for<HistoryTrendOptions>(*trend, chosen, show_trends);
    trends->filter.last = 200;
    trend->add_option("ID", trends->patterns,
                      "cells and figures, by patterns: 'dns-race/*', "
                      "'*/tcp_connect_ms' (default: those of which there is something to say)");
    add_target_option(*trend, trends->target);
    add_filter_options(*trend, trends->filter);
    trend->add_option("--last", trends->filter.last, "of the newest so many runs (0: all)")
        ->check(CLI::Range(std::size_t{0}, std::size_t{100'000'000}))
        ->capture_default_str();
    add_json_flag(*trend, trends->json, "as JSON, with the values");

    CLI::App* exporting = command->add_subcommand("export", "All runs with cells and figures");
    const auto exported = options_for<HistoryExportOptions>(*exporting, chosen, export_runs);
    add_target_option(*exporting, exported->target);
    add_filter_options(*exporting, exported->filter);
    exporting->add_option("--format", exported->format, "json (a line a run) or csv (RFC 4180)")
        ->check(CLI::IsMember({"json", "csv"}))
        ->capture_default_str();
    exporting->add_option("--out", exported->out, "a file (standard output by default)")
        ->type_name("FILE");

    CLI::App* import = command->add_subcommand("import", "Add reports that were written earlier");
    const auto imported = options_for<HistoryImportOptions>(*import, chosen, import_reports);
    import->add_option("REPORT", imported->reports, "report.json, or the folder that it is in")
        ->required();
    add_target_option(*import, imported->target);
}

}  // namespace pathproof::cli
