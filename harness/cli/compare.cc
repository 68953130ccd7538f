// pathproof compare: what changed from one report to others.
#include "harness/cli/compare.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "dataplane/base/clock.h"
#include "dataplane/base/new_file.h"
#include "dataplane/base/version.h"
#include "harness/cli/commands.h"
#include "harness/cli/run_options.h"
#include "harness/compare/requalify.h"
#include "harness/compare/text.h"
#include "harness/fingerprint/host.h"
#include "harness/process/json_text.h"

namespace pathproof::cli {
namespace {

struct CompareOptions {
    std::vector<std::string> reports;
    std::vector<std::string> noise;  // reports of one and the same system
    bool requalify = false;
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

nlohmann::ordered_json requalification_json(const std::string& file,
                                            const compare::Requalification& all) {
    nlohmann::ordered_json items = nlohmann::ordered_json::array();
    for (const auto& [difference, rule] : all.items) {
        items.push_back({{"consequence", compare::name(rule->consequence)},
                         {"where", difference.where},
                         {"what", difference.what},
                         {"before", difference.before},
                         {"now", difference.now},
                         {"why", rule->why}});
    }
    return {{"now", file}, {"certificate", compare::name(all.consequence)}, {"differences", items}};
}

// Reports whether the certificate of the first report holds for the systems of the others, or for
// this machine.
Result<int> run_requalify(const CompareOptions& options) {
    if (!options.views.html.empty() || !options.views.baseline.empty() || !options.noise.empty()) {
        return fail(ErrorCode::kBadInput,
                    "--requalify compares environments: it takes no --html, --baseline or --noise");
    }
    const auto reports = TRY(read_reports(options.reports));
    const compare::Report& certificate = reports.front();
    nlohmann::ordered_json runs = nlohmann::ordered_json::array();
    bool holds = true;
    const auto judge = [&](const std::string& now, const std::vector<compare::Difference>& found) {
        const compare::Requalification all = compare::requalify(found);
        holds &= all.consequence == compare::Consequence::kHolds;
        runs.push_back(requalification_json(now, all));
        if (!options.views.json) {
            fmt::print("before  {}\nnow     {}\n{}", certificate.file, now, compare::text(all));
        }
    };
    if (reports.size() == 1) {
        judge("this machine, without its devices under test", differences_from_here(certificate));
    }
    for (auto now = reports.begin() + 1; now != reports.end(); ++now) {
        judge(now->file, compare::differences(certificate.run, now->run));
    }
    if (options.views.json) {
        const nlohmann::ordered_json document = {
            {"schema", "pathproof-requalify/1"}, {"before", certificate.file}, {"runs", runs}};
        fmt::print("{}\n", process::to_text(document, 2));
    }
    return holds ? 0 : 1;
}

Result<compare::Noise> read_noise(const std::vector<std::string>& paths) {
    if (paths.size() == 1) {
        return fail(ErrorCode::kBadInput,
                    "--noise takes two or more reports of one and the same system, not 1");
    }
    const auto reports = TRY(read_reports(paths));
    std::vector<const verdict::RunResult*> runs;
    for (const compare::Report& report : reports) {
        if (const std::string why = compare::not_comparable(reports.front().run, report.run);
            !why.empty()) {
            return fail(ErrorCode::kBadInput, "--noise: {} and {} are not of one system: {}",
                        reports.front().file, report.file, why);
        }
        runs.push_back(&report.run);
    }
    return compare::noise_of(runs);
}

Result<int> run_compare(const CompareOptions& options) {
    if (options.requalify) {
        return run_requalify(options);
    }
    if (options.reports.size() < 2) {
        return fail(
            ErrorCode::kBadInput,
            "compare takes two reports or more (one with --requalify: against this machine)");
    }
    const auto reports = TRY(read_reports(options.reports));
    const auto noise = TRY(read_noise(options.noise));
    const auto expected = TRY(run::Expected::read(options.views.baseline));
    return compare_reports(reports, expected, options.views, noise);
}

}  // namespace

std::vector<compare::Difference> differences_from_here(const compare::Report& report) {
    verdict::RunResult was{.environment = report.run.environment};
    verdict::RunResult is{
        .environment = fingerprint::read_environment({.pathproof_version = version(), .root = ""})};
    const auto lacks = [](const verdict::RunResult& other) {
        return [&](const verdict::FactGroup& group) {
            return std::ranges::find(other.environment, group.title, &verdict::FactGroup::title) ==
                   other.environment.end();
        };
    };
    std::erase_if(was.environment, lacks(is));
    std::erase_if(is.environment, lacks(was));
    auto found = compare::differences(was, is);
    // DPDK is asked of the tester once it runs.
    std::erase_if(found, [](const compare::Difference& each) { return each.what == "DPDK"; });
    return found;
}

Result<int> compare_reports(const std::vector<compare::Report>& reports,
                            const run::Expected& expected, const ComparisonViews& views,
                            const compare::Noise& noise) {
    const compare::Report& before = reports.front();
    std::vector<compare::Compared> all;
    int code = 0;
    for (auto now = reports.begin() + 1; now != reports.end(); ++now) {
        if (const std::string why = compare::not_comparable(before.run, now->run); !why.empty()) {
            return fail(ErrorCode::kFailed, "{} and {} cannot be compared: {}", before.file,
                        now->file, why);
        }
        all.push_back({&*now, compare::compare(before.run, now->run, noise)});
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
        ->add_option(
            "REPORT", options->reports,
            "report.json, or the folder that it is in: two or more (with --requalify: one or more)")
        ->required()
        ->expected(1, 64);
    command
        ->add_option("--noise", options->noise,
                     "reports of one and the same system, two or more: a figure changed only if it "
                     "differs by more than they do")
        ->type_name("REPORT")
        ->delimiter(',')
        ->allow_extra_args(false);
    command->add_flag(
        "--requalify", options->requalify,
        "say whether what is not the same voids the certificate that the first report "
        "is (exit code 1: it does); with one report: on this machine");
    add_comparison_options(*command, options->views);
}

}  // namespace pathproof::cli
