// pathproof repro: one scenario, with its cause and cure.

#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/cli/baseline.h"
#include "harness/cli/commands.h"
#include "harness/cli/session.h"
#include "harness/cli/views.h"
#include "harness/report/json.h"
#include "harness/report/report.h"

namespace pathproof::cli {
namespace {

struct ReproOptions {
    std::string scenario;
    std::string lab = "veth";
    std::string out;
    std::string baseline;
    Views views;
    std::uint64_t seed = 0;
    std::uint64_t pairs = 0;
    std::vector<std::string> cells;
    bool no_hugepages = false;
    bool full = false;
    bool json = false;
};

int exit_code_of(verdict::ScenarioVerdict verdict) {
    switch (verdict) {
        case verdict::ScenarioVerdict::kReproduced:
        case verdict::ScenarioVerdict::kDefectFound: return 0;
        case verdict::ScenarioVerdict::kExposed:
        case verdict::ScenarioVerdict::kNotReproduced:
        case verdict::ScenarioVerdict::kNoDefectFound: return 1;
        case verdict::ScenarioVerdict::kInconclusive:
        case verdict::ScenarioVerdict::kNotRun: return 3;
    }
    return 3;
}

int run_repro(const ReproOptions& options) {
    auto scenarios = parse_scenarios(options.scenario);
    if (!scenarios) {
        return complain(scenarios.error());
    }
    if (scenarios->size() != 1) {
        return complain(
            {ErrorCode::kBadInput, "repro takes one scenario; qualify --only takes several"});
    }
    if (const Status known = scenario::check_cells(*scenarios->front(), options.cells); !known) {
        return complain(known.error());
    }
    const auto expected = Expected::read(options.baseline);
    if (!expected) {
        return complain(expected.error());
    }
    SessionOptions session{.command = "", .repeat_command = "", .out_dir = options.out};
    session.repeat_command =
        fmt::format("pathproof repro {} --lab {}", options.scenario, options.lab);
    if (options.pairs != 0) {
        session.repeat_command += fmt::format(" --pairs {}", options.pairs);
    }
    if (!options.cells.empty()) {
        session.repeat_command += fmt::format(" --cells '{}'", fmt::join(options.cells, ","));
        session.cells = options.cells;
    }
    if (options.full) {
        session.repeat_command += " --full";
        session.matrix = scenario::MatrixSize::kFull;
    }
    if (options.no_hugepages) {
        session.repeat_command += " --no-hugepages";
    }
    session.command = session.repeat_command;
    if (const Status taken = take_lab(options.lab, session); !taken) {
        return complain(taken.error());
    }
    session.scenarios = std::move(*scenarios);
    if (const Status able = check_roles(session); !able) {
        return complain(able.error());
    }
    session.seed = options.seed;
    session.pairs = options.pairs;
    session.use_hugepages = !options.no_hugepages;
    auto result = run_session(session);
    if (!result) {
        return complain(result.error());
    }
    const int exit_code = options.views.write(
        *result, expected->judge(*result, exit_code_of(result->scenarios.front().verdict)));
    return conclude(*result, options.out, exit_code, [&](const std::string&) {
        if (options.views.print(*result, exit_code)) {
            return;
        }
        fmt::print("{}", options.json ? report::to_json(*result).dump(
                                            -1, ' ', false,
                                            nlohmann::ordered_json::error_handler_t::replace) +
                                            "\n"
                                      : report::summary(*result, isatty(STDOUT_FILENO) == 1
                                                                     ? report::Colour::kAnsi
                                                                     : report::Colour::kNone));
    });
}

}  // namespace

void add_repro(CLI::App& app, Command& chosen) {
    auto options = std::make_shared<ReproOptions>();
    CLI::App* command =
        app.add_subcommand("repro", "reproduce one failure, name its cause, show its cure");
    command->footer(
        "Exit status: 0 reproduced (or a defect found), 1 not: exposed without harm, or absent; 3 "
        "inconclusive.");
    command->add_option("scenario", options->scenario, "vxlan-checksum, dns-race or offload-truth")
        ->required();
    add_lab_option(*command, options->lab);
    command->add_option("--out", options->out,
                        "folder for a report and its evidence (none by default)");
    add_baseline_option(*command, options->baseline);
    command->add_option("--seed", options->seed, "repeats a run's random choices (0: draw one)");
    command
        ->add_option("--pairs", options->pairs,
                     "query pairs of each race experiment (0: each its own number)")
        ->check(CLI::Range(0, 50'000));
    command
        ->add_option("--cells", options->cells,
                     "run the cells that match these patterns only ('cure.*,*.no-nat.*'); nothing "
                     "is said of the others")
        ->delimiter(',')
        ->allow_extra_args(false);
    command->add_flag(
        "--full", options->full,
        "offload-truth: all triples of its matrix instead of all pairs (up to two minutes more)");
    command->add_flag("--no-hugepages", options->no_hugepages, "do not reserve hugepages");
    command->add_flag("--json", options->json, "print the whole result as one JSON document");
    add_view_options(*command, options->views);
    command->callback([options, &chosen] { chosen = [options] { return run_repro(*options); }; });
}

}  // namespace pathproof::cli
