// pathproof compare: what changed from one report to others.
#include "harness/cli/compare.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "dataplane/base/clock.h"
#include "dataplane/base/new_file.h"
#include "harness/cli/commands.h"
#include "harness/cli/run_options.h"
#include "harness/compare/text.h"
#include "harness/process/json_text.h"

namespace pathproof::cli {
namespace {

struct CompareOptions {
    std::vector<std::string> reports;
    ComparisonViews views;
};

Result<std::vector<compare::Report>> read_reports(const std::vector<std::string>& paths) {
    std::vector<compare::Report> reports;
    for (const std::string& path : paths) {
        auto report = TRY(compare::read_report(path));
        for (const compare::Report& other : reports) {
            std::error_code gone;
            if (std::filesystem::equivalent(other.file, report.file, gone)) {
                return fail(ErrorCode::kBadInput, "{} and {} are one file", other.file,
                            report.file);
            }
        }
        reports.push_back(std::move(report));
    }
    return reports;
}

Result<int> run_compare(const CompareOptions& options) {
    const auto reports = TRY(read_reports(options.reports));
    const auto expected = TRY(run::Expected::read(options.views.baseline));
    return compare_reports(reports, expected, options.views);
}

}  // namespace

Result<int> compare_reports(const std::vector<compare::Report>& reports,
                            const run::Expected& expected, const ComparisonViews& views) {
    const compare::Report& before = reports.front();
    std::vector<compare::Compared> all;
    int code = 0;
    for (auto now = reports.begin() + 1; now != reports.end(); ++now) {
        if (const std::string why = compare::not_comparable(before.run, now->run); !why.empty()) {
            return fail(ErrorCode::kFailed, "{} and {} cannot be compared: {}", before.file,
                        now->file, why);
        }
        all.push_back({&*now, compare::compare(before.run, now->run)});
        if (expected.baseline) {
            compare::apply(*expected.baseline, today_utc(), now->run, all.back().comparison);
        }
        const int one = compare::exit_code(all.back().comparison);
        code = code == 1 || one == 1 ? 1 : std::max(code, one);
    }
    if (!views.html.empty()) {
        TRY(replace_file(views.html, compare::page(before, all)));
    }
    if (views.json) {
        fmt::print("{}\n", process::to_text(compare::to_json(before, all), 2));
        return code;
    }
    for (const compare::Compared& now : all) {
        fmt::print("{}{}", &now == &all.front() ? "" : "\n", compare::text(before, now));
    }
    return code;
}

void add_comparison_options(CLI::App& command, ComparisonViews& views) {
    command.add_flag("--json", views.json, "as JSON");
    command.add_option("--html", views.html, "write a page to this file, too")->type_name("FILE");
    add_baseline_option(command, views.baseline);
}

void add_compare(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand(
        "compare",
        "What changed from the first report to each of the others (exit code 0: no worse, 1: "
        "worse, 2: bad input, 3: cannot be compared)");
    const auto options = options_for<CompareOptions>(*command, chosen, run_compare);
    command
        ->add_option("REPORT", options->reports,
                     "report.json, or the folder that it is in: two or more")
        ->required()
        ->expected(2, 64);
    add_comparison_options(*command, options->views);
}

}  // namespace pathproof::cli
