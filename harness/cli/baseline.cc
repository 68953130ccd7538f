// pathproof baseline: files of expected failures.
#include "harness/compare/baseline.h"

#include <unistd.h>

#include <CLI/CLI.hpp>

#include "dataplane/base/clock.h"
#include "dataplane/base/new_file.h"
#include "harness/cli/commands.h"
#include "harness/compare/read.h"
#include "harness/report/text.h"
#include "harness/scenario/scenario.h"

namespace pathproof::cli {
namespace {

struct WriteOptions {
    std::string report;
    std::string out;
};

Result<int> write_baseline(const WriteOptions& options) {
    const auto& [path, out] = options;
    const auto report = TRY(compare::read_report(path));
    const std::string text = compare::baseline_of(report.run);
    if (out.empty()) {
        fmt::print("{}", text);
        return 0;
    }
    if (access(out.c_str(), F_OK) == 0) {
        return fail(ErrorCode::kBadInput, "{} is there: the reasons in it are not overwritten",
                    out);
    }
    TRY(replace_file(out, text));
    return 0;
}

Result<int> check_baseline(const std::string& file) {
    const auto baseline = TRY(compare::read_baseline(file));
    std::vector<std::string> scenarios;
    for (const scenario::Scenario& each : scenario::all_scenarios()) {
        scenarios.emplace_back(each.id);
    }
    const auto wrong = compare::lint(baseline, today_utc(), scenarios);
    for (const std::string& sentence : wrong) {
        fmt::print("{}\n", sentence);
    }
    fmt::print(
        "{}: {}, {} to mend\n", file,
        baseline.known.size() == 1 ? "1 entry" : fmt::format("{} entries", baseline.known.size()),
        wrong.size());
    return wrong.empty() ? 0 : 1;
}

}  // namespace

void add_baseline(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand(
        "baseline",
        "Files of expected failures, for --baseline of qualify, repro, offload check "
        "and compare");
    command->require_subcommand(1);
    CLI::App* write =
        command->add_subcommand("write", "Make one that expects all failures of a report");
    const auto options = options_for<WriteOptions>(*write, chosen, write_baseline);
    write->add_option("REPORT", options->report, "report.json, or the folder that it is in")
        ->required();
    write->add_option("--out", options->out, "a new file (standard output by default)")
        ->type_name("FILE");
    CLI::App* check =
        command->add_subcommand("check", "Say what is wrong with one: exit code 1 if something is");
    const auto file = options_for<std::string>(*check, chosen, check_baseline);
    check->add_option("FILE", *file, "the baseline")->required();
}

}  // namespace pathproof::cli
