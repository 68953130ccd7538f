#include "harness/cli/bench/run.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "dataplane/base/clock.h"
#include "dataplane/base/new_file.h"
#include "dataplane/base/version.h"
#include "harness/bench/clocks.h"
#include "harness/fingerprint/host.h"
#include "harness/lab/privilege.h"
#include "harness/lab/signals.h"
#include "harness/process/child.h"
#include "harness/process/json_text.h"
#include "harness/process/log.h"

namespace pathproof::cli {
namespace {

using bench::Experiment;
using nlohmann::json;
using Contended = bench::RoundPlan::Contended;

// Before anything is measured: a result that cannot be written is time lost.
Status prepare(const BenchOptions& options) {
    if (options.out_dir.empty()) {
        return {};
    }
    TRY(doing(make_folders(options.out_dir, ErrorCode::kBadInput), "--out '{}'", options.out_dir));
    for (const char* name : {"bench.json", "bench.txt"}) {
        TRY(doing(NewFile::beside(options.out_dir + "/" + name), "--out"));
    }
    return {};
}

std::string duration_text(double seconds) {
    return seconds < 90 ? fmt::format("{:.0f} s", std::ceil(seconds))
                        : fmt::format("{:.0f} min", std::ceil(seconds / 60));
}

void tell_budget(const BenchRun& run) {
    double all = 0;
    std::string parts;
    for (const BenchStep& step : run.steps) {
        all += step.seconds;
        parts +=
            fmt::format("{}{} {}", parts.empty() ? "" : ", ", step.id, duration_text(step.seconds));
    }
    process::log(
        fmt::format("this takes about {} on a quiet machine ({}); rounds that others disturb are "
                    "taken again, which can double it",
                    duration_text(all), parts));
}

bool is_absent(const bench::LaneResult& lane) {
    return !lane.absent.empty();
}

bool all_rejected(const bench::LaneResult& lane) {
    return !lane.readings.empty() && lane.readings.size() == lane.rejected();
}

// An experiment or a lane that fails takes nothing from those before and after it; the result says
// that it is not whole.
struct Outcome {
    std::vector<Experiment> experiments;
    bool whole = true;
};

Outcome run_steps(const BenchRun& run, lab::Journal* journal) {
    Outcome outcome;
    for (const BenchStep& step : run.steps) {
        auto experiment = step.run(journal);
        if (!experiment) {
            process::log(fmt::format("{}: {}", step.id, experiment.error().message));
            outcome.whole = false;
            outcome.experiments.push_back({.id = step.id,
                                           .title = "failed",
                                           .notes = {"failed: " + experiment.error().message}});
            continue;
        }
        // Nor is one of which nothing could be measured, or nothing that counts.
        outcome.whole =
            outcome.whole && !has_failures(*experiment) &&
            (experiment->lanes.empty() || !std::ranges::all_of(experiment->lanes, is_absent)) &&
            std::ranges::none_of(experiment->lanes, all_rejected);
        outcome.experiments.push_back(std::move(*experiment));
    }
    return outcome;
}

Result<Outcome> run_with_journal(const BenchRun& run) {
    const lab::SignalHold hold;
    auto journal = TRY(lab::Journal::open("pathproof bench " + run.name));
    const lab::SignalGuard guard(journal.get(), [](int signal, const std::string& machine) {
        process::log(fmt::format("stopped by {}; {}", strsignal(signal), machine));
    });
    for (const std::string& sentence : journal->recovered()) {
        process::log(sentence);
    }
    Outcome outcome = run_steps(run, journal.get());
    TRY(journal->undo());
    return outcome;
}

struct Measured {
    bench::BenchResult result;
    bool whole = true;
};

Result<Measured> measure(const BenchRun& run) {
    bench::BenchResult result{
        .name = run.name,
        .command = run.command,
        .version = version(),
        .started_at = utc_now(),
        .tools = run.tools,
        .environment = fingerprint::read_environment({.pathproof_version = version()}),
        .experiments = {}};
    result.environment.push_back(bench::clock_facts());
    const bool journalled = std::ranges::any_of(run.steps, &BenchStep::namespaces) &&
                            lab::needs_root("namespaces").has_value();
    auto outcome =
        TRY(journalled ? run_with_journal(run) : Result<Outcome>(run_steps(run, nullptr)));
    result.experiments = std::move(outcome.experiments);
    for (auto& [name, version] : result.tools) {
        version = version.empty() ? "not installed" : version;
    }
    return Measured{.result = std::move(result), .whole = outcome.whole};
}

Status write_files(const std::string& folder, const std::string& machine,
                   const std::string& table) {
    for (const auto& [name, text] :
         {std::pair{"bench.json", &machine}, std::pair{"bench.txt", &table}}) {
        TRY(replace_file(folder + "/" + name, *text));
    }
    return {};
}

}  // namespace

void add_bench_options(CLI::App& command, BenchOptions& options) {
    command
        .add_option("--rounds", options.rounds,
                    "clean rounds for each lane (default 7, or 3 where they are long); at most "
                    "twice as many are run")
        ->check(CLI::Range(1, 1000));
    command
        .add_option_function<std::string>(
            "--contended",
            [&options](const std::string& word) {
                options.contended =
                    word == "use" ? Contended::kUseWhenNothingElse : Contended::kReject;
            },
            "rounds that other processes disturbed: reject (default), or use (when a lane has no "
            "other; they are marked)")
        ->check(CLI::IsMember({"reject", "use"}));
    command.add_option("--out", options.out_dir, "folder for bench.json and bench.txt");
    command.add_flag("--json", options.json, "print the JSON instead of the table");
}

std::string repeat_options(const BenchOptions& options) {
    std::string words = options.rounds ? fmt::format(" --rounds {}", *options.rounds) : "";
    for (const std::string& experiment : options.only) {
        words += " --only " + experiment;
    }
    const bool keep = options.contended == Contended::kUseWhenNothingElse;
    return words + (keep ? " --contended use" : "");
}

bool wanted(const BenchOptions& options, const std::string& id) {
    return options.only.empty() || std::ranges::find(options.only, id) != options.only.end();
}

bench::RoundPlan plan_for(const BenchOptions& options, const std::string& experiment,
                          unsigned rounds) {
    bench::RoundPlan plan{.rounds = options.rounds.value_or(rounds),
                          .contended = options.contended};
    plan.most_rounds = plan.rounds * 2;
    plan.progress = [experiment](unsigned round, const bench::Lane& lane) {
        process::log(round == 0 ? fmt::format("{}: warming up: {}", experiment, lane.title)
                                : fmt::format("{}: round {}: {}", experiment, round, lane.title));
    };
    plan.failed = [experiment](const bench::Lane& lane, const bench::FailedRun& run) {
        process::log(fmt::format("{}: {} failed: {}", experiment, lane.title, run.why));
    };
    return plan;
}

std::string measured_program() {
    const std::string own = process::own_binary();
    return own.substr(0, own.rfind("-bench"));
}

Result<int> run_bench(const BenchOptions& options, const BenchRun& run) {
    TRY(prepare(options));
    tell_budget(run);
    const auto measured = TRY(measure(run));
    const std::string machine = process::to_text(json(measured.result), 2) + "\n";
    const std::string table = to_text(measured.result);
    fmt::print("{}", options.json ? machine : table);
    if (!options.out_dir.empty()) {
        TRY(write_files(options.out_dir, machine, table));
    }
    return measured.whole ? 0 : 3;
}

}  // namespace pathproof::cli
