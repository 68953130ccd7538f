// pathproof qualify: the main job. All scenarios of a lab, one report.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "harness/cli/baseline.h"
#include "harness/cli/commands.h"
#include "harness/cli/session.h"
#include "harness/cli/views.h"
#include "harness/report/report.h"

namespace pathproof::cli {
namespace {

struct QualifyOptions {
    std::string lab = "veth";
    std::string profile;
    std::string only;
    std::string out = "report";
    std::string baseline;
    Views views;
    std::uint64_t seed = 0;
    std::uint64_t pairs = 0;
    bool no_hugepages = false;
    bool full = false;
};

Result<SessionOptions> session_of(const QualifyOptions& options) {
    SessionOptions session{.command = "", .repeat_command = "", .out_dir = options.out};
    if (const Status taken = take_lab(options.lab, session); !taken) {
        return pass_on(taken.error());
    }
    // Of another lab's device the one that its driver says.
    const std::string named =
        options.profile.empty() && session.place->is_built_in() ? "veth" : options.profile;
    if (!named.empty()) {
        auto profile = profile::find_profile(profile::profile_directory(), named);
        if (!profile) {
            return pass_on(profile.error());
        }
        session.profile = std::move(*profile);
    }
    session.seed = options.seed;
    session.pairs = options.pairs;
    session.use_hugepages = !options.no_hugepages;
    session.calibrate = scenario::Calibrate::kQuick;
    if (options.only.empty()) {
        for (const scenario::Scenario& each : scenario::all_scenarios()) {
            session.scenarios.push_back(&each);
        }
    } else {
        auto chosen = parse_scenarios(options.only);
        if (!chosen) {
            return pass_on(chosen.error());
        }
        session.scenarios = std::move(*chosen);
        if (const Status able = check_roles(session); !able) {
            return pass_on(able.error());
        }
    }
    session.repeat_command = "pathproof qualify --lab " + options.lab;
    session.repeat_command += named.empty() ? "" : " --profile " + named;
    if (!options.only.empty()) {
        session.repeat_command += " --only " + options.only;
    }
    if (options.pairs != 0) {
        session.repeat_command += fmt::format(" --pairs {}", options.pairs);
    }
    if (options.full) {
        session.repeat_command += " --full";
        session.matrix = scenario::MatrixSize::kFull;
    }
    if (options.no_hugepages) {
        session.repeat_command += " --no-hugepages";
    }
    session.command = session.repeat_command + " --out " + options.out;
    return session;
}

int run_qualify(const QualifyOptions& options) {
    const auto session = session_of(options);
    if (!session) {
        return complain(session.error());
    }
    const auto expected = Expected::read(options.baseline);
    if (!expected) {
        return complain(expected.error());
    }
    auto result = run_session(*session);
    if (!result) {
        return complain(result.error());
    }
    const int exit_code =
        options.views.write(*result, expected->judge(*result, verdict::exit_code(result->verdict)));
    return conclude(*result, options.out, exit_code, [&](const std::string& report) {
        if (options.views.print(*result, exit_code)) {
            return;
        }
        fmt::print("{}",
                   report::summary(*result, isatty(STDOUT_FILENO) == 1 ? report::Colour::kAnsi
                                                                       : report::Colour::kNone));
        fmt::print("{}", report.empty() ? "" : "report: " + report + "\n");
    });
}

}  // namespace

void add_qualify(CLI::App& app, Command& chosen) {
    auto options = std::make_shared<QualifyOptions>();
    CLI::App* command = app.add_subcommand(
        "qualify", "run all scenarios of a lab and write the report (the main job)");
    add_lab_option(*command, options->lab);
    command->add_option("--profile", options->profile,
                        "what the device under test is expected to do (default: by its driver)");
    command->add_option("--only", options->only,
                        "scenarios to run, separated by commas (default: all that the lab can)");
    command->add_option("--out", options->out, "folder of the report")->capture_default_str();
    add_baseline_option(*command, options->baseline);
    add_view_options(*command, options->views);
    command->add_option("--seed", options->seed, "repeats a run's random choices (0: draw one)");
    command
        ->add_option("--pairs", options->pairs,
                     "query pairs of each race experiment (0: each its own number)")
        ->check(CLI::Range(0, 50'000));
    command->add_flag(
        "--full", options->full,
        "offload-truth: all triples of its matrix instead of all pairs (up to two minutes more)");
    command->add_flag("--no-hugepages", options->no_hugepages, "do not reserve hugepages");
    command->callback([options, &chosen] { chosen = [options] { return run_qualify(*options); }; });
}

}  // namespace pathproof::cli
