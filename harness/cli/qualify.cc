// pathproof qualify: the main job. All scenarios of a lab, one report.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "dataplane/base/number.h"
#include "harness/cli/commands.h"
#include "harness/cli/run_options.h"
#include "harness/process/json_text.h"
#include "harness/run/plan.h"
#include "harness/run/request.h"
#include "harness/run/run_to_end.h"
#include "harness/verdict/bisect.h"

namespace pathproof::cli {
namespace {

// "90", "30m", "8h", "2d".
std::optional<double> seconds_of_duration(std::string text) {
    static const std::map<char, double> kUnits{{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86'400}};
    double unit = 1;
    if (!text.empty() && kUnits.contains(text.back())) {
        unit = kUnits.at(text.back());
        text.pop_back();
    }
    const auto number = whole_number<std::uint64_t>(text);
    constexpr double kMost = 3650 * 86'400.0;
    if (!number || *number == 0 || static_cast<double>(*number) * unit > kMost) {
        return std::nullopt;
    }
    return static_cast<double>(*number) * unit;
}

const CLI::Validator kDuration(
    [](std::string& text) {
        return seconds_of_duration(text)
                   ? std::string()
                   : fmt::format("'{}' is no duration: 90, 30m, 8h or 2d", text);
    },
    "");

struct QualifyOptions : verdict::RunOptions {
    QualifyOptions() : RunOptions{.command = "qualify", .lab = {.name = "veth"}} {}
    std::string only;
    std::string out;
    std::string baseline;
    bool strict = false;
    run::CertificateOptions certificate;
    std::string bisect;  // "SCENARIO/CELL"
    run::Views views;
    run::HistoryChoice history;
    std::uint32_t wait_s = 0;
    std::uint64_t seed = 0;
    bool plan = false;
    std::optional<double> calibrated_within_s;
};

Result<run::SessionOptions> qualify_session(const QualifyOptions& options) {
    verdict::RunOptions asked = options;
    if (!options.only.empty()) {
        asked.scenarios = TRY(run::scenario_ids(options.only));
    }
    auto session = run::session_of(asked, options.seed, options.out);
    if (session) {
        session->command += options.out.empty() ? "" : " --out " + options.out;
    }
    return session;
}

// --plan: as JSON with --json, else for people.
Result<int> print_plan(const QualifyOptions& options) {
    const auto session = TRY(qualify_session(options));
    const run::Plan plan = run::plan_of(session, run::Timings::read());
    fmt::print("{}", options.views.json ? process::to_text(run::plan_json(plan)) + "\n"
                                        : run::plan_text(plan));
    return 0;
}

Result<int> run_qualify(QualifyOptions options) {
    options.out = options.out.empty() ? "report" : options.out;
    if (options.plan) {
        return print_plan(options);
    }
    const auto print = [](const verdict::RunResult& result, const std::string& report) {
        run::print_summary(result);
        fmt::print("{}", report.empty() ? "" : "report: " + report + "\n");
    };
    return run::run_to_end(qualify_session(options), options, print);
}

// Explains why there is no verdict: by the cell's reason, or else by the scenario's headline.
std::string nothing_said(const verdict::RunResult& result, const std::string& cell) {
    std::string text = "nothing is said of this one";
    if (result.scenarios.empty()) {
        return text;
    }
    const verdict::ScenarioResult& ran = result.scenarios.front();
    const verdict::Cell* found = cell.empty() ? nullptr : verdict::find_cell(ran, cell);
    text += fmt::format(": {}", found != nullptr ? found->reason : ran.headline);
    return cell.empty() || found != nullptr ? text : text + "; it has no cell " + cell;
}

std::string bisect_word(int code, const verdict::RunResult& result, const std::string& cell) {
    switch (code) {
        case verdict::kBisectAbsent: return "absent";
        case verdict::kBisectPresent: return "present";
        default: return nothing_said(result, cell);
    }
}

// Whatever goes wrong says nothing of what is bisected: git takes other codes for "bad".
int run_bisect(QualifyOptions options) {
    const std::size_t slash = std::min(options.bisect.find('/'), options.bisect.size());
    const std::string scenario = options.bisect.substr(0, slash);
    const std::string cell = slash < options.bisect.size() ? options.bisect.substr(slash + 1) : "";
    const auto skip = [](const Error& error) {
        complain(error);
        return verdict::kBisectSkip;
    };
    options.only = scenario;
    if (!cell.empty() && !options.cells.empty()) {
        return skip({ErrorCode::kBadInput, "--bisect names the cell: leave --cells out"});
    }
    const scenario::Scenario* known = scenario::find_scenario(scenario);
    if (!cell.empty() && (known == nullptr || known->cells != nullptr)) {
        options.cells = {options.bisect};
    }
    if (const Status history = options.history.check(); !history) {
        return skip(history.error());
    }
    auto session = qualify_session(options);
    if (!session) {
        return skip(session.error());
    }
    session->history = options.history;
    const auto result = run::run_session(*session);
    if (!result) {
        return skip(result.error());
    }
    const int code = verdict::bisect_code(*result, scenario, cell);
    const int written =
        run::publish(*result, options.out, code, options.history, [&](const std::string&) {
            fmt::print("{}: {}\n", options.bisect, bisect_word(code, *result, cell));
        });
    return written == code ? code : verdict::kBisectSkip;
}

}  // namespace

void add_qualify(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand(
        "qualify", "Run all scenarios of a lab and write the report (the main job)");
    const auto options = options_for<QualifyOptions>(
        *command, chosen, [](const QualifyOptions& typed) -> Result<int> {
            return typed.bisect.empty() ? run_qualify(typed) : run_bisect(typed);
        });
    add_lab_option(*command, options->lab);
    command->add_option("--profile", options->profile,
                        "what the device under test is expected to do (default: by its driver)");
    command->add_option(
        "--only", options->only,
        "scenarios to run, separated by commas (default: all that the lab can, but for those "
        "that take longer than a minute)");
    command->add_option("--out", options->out, "folder of the report (none with --bisect)")
        ->default_str("report");
    CLI::Option* bisect = command->add_option(
        "--bisect", options->bisect,
        "SCENARIO or SCENARIO/CELL, for 'git bisect run': exit code 0 where the failure is absent, "
        "1 where it is present, 125 where this cannot be told");
    command->add_flag(
        "--prices", options->prices,
        "afterwards run every cure on the probes of all scenarios: what else it cures, breaks and "
        "costs (at most 20 minutes); kept for later runs on this kernel");
    command->add_flag("--performance,!--no-performance", options->performance,
                      "throughput, latency, loss, bursts, cost and offloads of the path, by trials "
                      "(on hardware it is measured unless --no-performance; see --trial-ms)");
    command
        ->add_option_function<std::string>(
            "--soak",
            [options](const std::string& text) {
                options->of_scenarios["soak"] =
                    static_cast<std::uint64_t>(*seconds_of_duration(text));
                options->performance = true;
            },
            "performance: a load at 90 % of the rate without loss for so long (30m, 8h): rate, "
            "loss, errors "
            "and memory over time. The same command with the same --out goes on with one that was "
            "ended")
        ->type_name("DURATION")
        ->check(kDuration);
    command
        ->add_option("--limits", options->limits,
                     "hold figures against the acceptance limits of this file (default: those of "
                     "the profile)")
        ->type_name("FILE");
    command
        ->add_option("--requirements", options->requirements,
                     "say which clauses of a plan are met, by the cells that this file names for "
                     "each")
        ->type_name("FILE");
    command
        ->add_option_function<std::string>(
            "--calibrated-within",
            [options](const std::string& text) {
                options->calibrated_within_s = seconds_of_duration(text);
            },
            "refuse to run where the tester's calibration ('lab calibrate') is older (30d), or "
            "missing")
        ->type_name("DURATION")
        ->check(kDuration);
    CLI::Option* plan = command->add_flag(
        "--plan", options->plan,
        "say what would be run, how long it takes and what it changes, and change nothing");
    command->add_flag("--json", options->views.json, "print the plan as one JSON object")
        ->needs(plan);
    add_wait_option(*command, options->wait_s);
    add_history_options(*command, options->history);
    add_baseline_option(*command, options->baseline);
    command->add_flag("--strict", options->strict,
                      "exit code 1 for every failure, also for one whose cure was shown (for CI; a "
                      "baseline's known failures do not count)");
    add_view_options(*command, options->views);
    add_certificate_options(*command, options->certificate);
    for (const char* other :
         {"--only", "--baseline", "--strict", "--ktap", "--summary-md", "--netdev-json", "--ocp"}) {
        bisect->excludes(command->get_option(other));
    }
    command->add_option("--seed", options->seed, "repeats a run's random choices (0: draw one)");
    add_run_options(*command, *options);
}

}  // namespace pathproof::cli
