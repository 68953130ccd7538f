// pathproof repro: one scenario, with its cause and cure.

#include <CLI/CLI.hpp>

#include "harness/cli/commands.h"
#include "harness/cli/run_options.h"
#include "harness/run/request.h"
#include "harness/run/run_to_end.h"
#include "harness/scenario/scenario.h"

namespace pathproof::cli {
namespace {

struct ReproOptions : verdict::RunOptions {
    ReproOptions() : RunOptions{.command = "repro", .lab = {.name = "veth"}} {}
    std::string scenario;
    std::string out;
    std::string baseline;
    run::CertificateOptions certificate;
    run::Views views;
    run::HistoryChoice history;
    std::uint32_t wait_s = 0;
    std::uint64_t seed = 0;
};

Result<int> run_repro(const ReproOptions& options) {
    const auto ids = TRY(run::scenario_ids(options.scenario));
    if (ids.size() != 1) {
        return fail(ErrorCode::kBadInput, "repro takes one scenario; qualify --only takes several");
    }
    verdict::RunOptions asked = options;
    asked.scenarios = ids;
    const auto print = [](const verdict::RunResult& result, const std::string&) {
        run::print_summary(result);
    };
    return run::run_to_end(run::session_of(asked, options.seed, options.out), options, print);
}

}  // namespace

void add_repro(CLI::App& app, Command& chosen) {
    CLI::App* command =
        app.add_subcommand("repro", "Reproduce one failure, name its cause, show its cure");
    const auto options = options_for<ReproOptions>(*command, chosen, run_repro);
    command->footer(
        "Exit status: 0 reproduced (or a defect found), 1 not: exposed without harm, or absent; 3 "
        "inconclusive.");
    command->add_option("scenario", options->scenario, scenario::known_scenarios())->required();
    add_lab_option(*command, options->lab);
    command->add_option("--out", options->out,
                        "folder for a report and its evidence (none by default)");
    add_certificate_options(*command, options->certificate);
    add_wait_option(*command, options->wait_s);
    add_history_options(*command, options->history);
    add_baseline_option(*command, options->baseline);
    command->add_option("--seed", options->seed, "repeats a run's random choices (0: draw one)");
    add_run_options(*command, *options);
    command->add_flag("--json", options->views.json, "print the whole result as one JSON document");
    add_view_options(*command, options->views);
}

}  // namespace pathproof::cli
