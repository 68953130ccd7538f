// pathproof bench inspect: the netfilter inspector beside conntrack(8).
#include <CLI/CLI.hpp>

#include "dataplane/port/cpus.h"
#include "harness/bench/inspect_bench.h"
#include "harness/cli/bench/run.h"
#include "harness/lab/privilege.h"
#include "harness/process/child.h"

namespace pathproof::cli {
namespace {

using bench::Experiment;
using bench::InspectBench;

constexpr unsigned kDumpRounds = 7;
constexpr unsigned kEventRounds = 3;
constexpr unsigned kAttachRounds = 7;

struct InspectOptions {
    BenchOptions bench;
    std::uint64_t entries = 1'000'000;
    bench::EventLoad load;
    std::uint64_t attach_flows = 200'000;
};

std::string repeat_command(const InspectOptions& options) {
    return fmt::format(
               "pathproof bench inspect --entries {} --flows-per-second {} --seconds {:g} --flows "
               "{}",
               options.entries, options.load.flows_per_second, options.load.seconds,
               options.attach_flows) +
           repeat_options(options.bench);
}

// Estimates, to plan with: the rounds and the one before them, times the lanes, times what a lane
// takes on a machine of this age.
struct Part {
    std::string id;
    unsigned rounds;
    unsigned lanes;
    double lane_seconds;
    std::function<Result<Experiment>(const InspectBench&, const InspectOptions&)> run;
};

std::vector<Part> parts_of(const InspectOptions& options) {
    const double million = static_cast<double>(options.entries) * 1e-6;
    const double flows = static_cast<double>(options.attach_flows) * 1e-6;
    return {
        {"dump", kDumpRounds, 5, 0.2 + 2.0 * million,
         [](const auto& inspect, const auto& set) { return bench_dump(inspect, set.entries); }},
        {"events", kEventRounds, 3, options.load.seconds + 2,
         [](const auto& inspect, const auto& set) { return bench_events(inspect, set.load); }},
        {"attach", kAttachRounds, 4, 0.5 + 5 * flows,
         [](const auto& inspect, const auto& set) {
             return bench_attach(inspect, set.attach_flows);
         }},
    };
}

BenchStep step_of(const Part& part, const InspectOptions& options,
                  const std::string& conntrack_version) {
    const unsigned rounds = options.bench.rounds.value_or(part.rounds);
    return {.id = part.id,
            .seconds = (rounds + 1) * part.lanes * part.lane_seconds,
            .namespaces = true,
            .run = [part, options, conntrack_version](lab::Journal* journal) -> Result<Experiment> {
                if (journal == nullptr) {
                    return Experiment{.id = part.id,
                                      .title = "the netfilter inspector",
                                      .notes = {"not measured: namespaces need root"}};
                }
                const InspectBench inspect{.journal = *journal,
                                           .binary = measured_program(),
                                           .conntrack_version = conntrack_version,
                                           .cpus = port::usable_cpus(),
                                           .plan = plan_for(options.bench, part.id, part.rounds)};
                return part.run(inspect, options);
            }};
}

BenchRun inspect_run(const InspectOptions& options) {
    const std::string version = bench::conntrack_version();
    BenchRun run{.name = "inspect",
                 .command = repeat_command(options),
                 .tools = {{"conntrack", version}},
                 .steps = {}};
    for (const Part& part : parts_of(options)) {
        if (wanted(options.bench, part.id)) {
            run.steps.push_back(step_of(part, options, version));
        }
    }
    return run;
}

Result<int> run_inspect(const InspectOptions& options) {
    TRY(lab::needs_root("'pathproof bench inspect'"));
    return run_bench(options.bench, inspect_run(options));
}

}  // namespace

BenchRun inspect_run(const BenchOptions& options) {
    return inspect_run({.bench = options});
}

void add_inspect_bench(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand(
        "inspect", "The netfilter inspector beside conntrack(8): dumps, events, cost of attaching");
    const auto options = options_for<InspectOptions>(*command, chosen, run_inspect);
    command->add_option("--entries", options->entries, "entries to dump (default 1000000)")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{100'000'000}));
    command
        ->add_option("--flows-per-second", options->load.flows_per_second,
                     "new flows per second for the event readers (default 100000)")
        ->check(CLI::Range(1, 10'000'000));
    command
        ->add_option("--seconds", options->load.seconds,
                     "how long each event reader is under load (default 10)")
        ->check(CLI::Range(0.1, 600.0));
    command
        ->add_option("--flows", options->attach_flows,
                     "flows to forward for the cost of attaching (default 200000)")
        ->check(CLI::Range(1, 100'000'000));
    command->add_option("--only", options->bench.only, "dump, events, attach (may be repeated)")
        ->delimiter(',')
        ->check(CLI::IsMember({"dump", "events", "attach"}));
    add_bench_options(*command, options->bench);
}

}  // namespace pathproof::cli
