// The command line that all benchmarks share: how rounds are taken, and where the result goes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/bench/experiment.h"
#include "harness/bench/rounds.h"
#include "harness/cli/commands.h"
#include "harness/lab/journal.h"

namespace pathproof::cli {

struct BenchOptions {
    std::optional<unsigned> rounds;
    std::vector<std::string> only;
    std::string out_dir;
    bool json = false;
    bench::RoundPlan::Contended contended = bench::RoundPlan::Contended::kReject;
};

// --rounds, --contended, --out, --json.
void add_bench_options(CLI::App& command, BenchOptions& options);
// Returns the options as they are typed again; begins with a space or is empty.
std::string repeat_options(const BenchOptions& options);
// Returns whether `id` is among the requested experiments.
bool wanted(const BenchOptions& options, const std::string& id);

bench::RoundPlan plan_for(const BenchOptions& options, const std::string& experiment,
                          unsigned rounds);
std::string measured_program();  // the pathproof beside this program

// One experiment, and how long it will take.
struct BenchStep {
    std::string id;
    double seconds = 0;
    bool namespaces = false;  // it makes some if it may
    // The journal is null where none may be made.
    std::function<Result<bench::Experiment>(lab::Journal*)> run;
};

// One command: what it is called, its steps, and the tools beside which it measures.
struct BenchRun {
    std::string name;     // "inspect", "dataplane", "all"
    std::string command;  // repeats it
    std::vector<std::pair<std::string, std::string>> tools;
    std::vector<BenchStep> steps;
};

// Says how long it will take, runs the steps one after the other, prints and writes the result;
// gives the exit code (3 when an experiment or a lane failed), or what went wrong. Without the
// privileges for namespaces the steps run without a journal.
Result<int> run_bench(const BenchOptions& options, const BenchRun& run);

// The two halves, as they are without their options; and their commands.
BenchRun inspect_run(const BenchOptions& options);
BenchRun dataplane_run(const BenchOptions& options);
void add_inspect_bench(CLI::App& app, Command& chosen);
void add_dataplane_bench(CLI::App& app, Command& chosen);
void add_bench_workers(CLI::App& app, Command& chosen);  // the processes that are measured

}  // namespace pathproof::cli
