// pathproof bench dataplane: the data plane beside the usual packet generators.
#include <CLI/CLI.hpp>

#include "dataplane/port/cpus.h"
#include "harness/bench/lanes/dataplane_bench.h"
#include "harness/cli/bench/run.h"
#include "harness/process/child.h"

namespace pathproof::cli {
namespace {

using bench::DataplaneBench;
using bench::DataplaneStep;
using bench::Experiment;

constexpr const char* kNoNamespaces =
    "not measured: namespaces need root (CAP_SYS_ADMIN and CAP_NET_ADMIN)";

// Said of each experiment on devices that are no hardware.
constexpr const char* kNoHardware =
    "not measurable on virtual devices: PCIe and DMA, hardware timestamps and rate limits, "
    "checksum and tunnel offloads in silicon, RSS in hardware";

struct DataplaneOptions {
    BenchOptions bench;
    double seconds = 1;
    std::uint64_t packets = 50'000'000;
    std::uint64_t seed = 1;
};

std::string repeat_command(const DataplaneOptions& options) {
    return fmt::format("pathproof bench dataplane --seconds {:g} --packets {} --seed {}",
                       options.seconds, options.packets, options.seed) +
           repeat_options(options.bench);
}

BenchStep step_of(const DataplaneStep& step, const DataplaneOptions& options,
                  const bench::Tools& tools) {
    const unsigned rounds = step.rounds == 0 ? 0 : options.bench.rounds.value_or(step.rounds) + 1;
    return {.id = step.id,
            .seconds = step.once_seconds + rounds * step.round_seconds(options.seconds),
            .namespaces = step.id == "veth" || step.id == "answers",
            .run = [step, options, tools](lab::Journal* journal) -> Result<Experiment> {
                auto experiment =
                    step.run({.journal = journal,
                              .no_namespaces = journal == nullptr ? kNoNamespaces : "",
                              .binary = measured_program(),
                              .cores = bench::choose_cores(port::usable_cpus()),
                              .tools = tools,
                              .seconds = options.seconds,
                              .ledger_packets = options.packets,
                              .seed = options.seed,
                              .plan = plan_for(options.bench, step.id, step.rounds)});
                if (experiment) {
                    experiment->notes.emplace_back(kNoHardware);
                }
                return experiment;
            }};
}

BenchRun dataplane_run(const DataplaneOptions& options) {
    const bench::Tools tools = bench::find_tools();
    BenchRun run{.name = "dataplane", .command = repeat_command(options), .tools = {}, .steps = {}};
    for (const bench::Tool& tool : tools.all()) {
        run.tools.emplace_back(tool.program, tool.version);
    }
    for (const DataplaneStep& step : bench::dataplane_steps(options.packets)) {
        if (wanted(options.bench, step.id)) {
            run.steps.push_back(step_of(step, options, tools));
        }
    }
    return run;
}

std::vector<std::string> step_ids() {
    std::vector<std::string> ids;
    for (const DataplaneStep& step : bench::dataplane_steps(0)) {
        ids.push_back(step.id);
    }
    return ids;
}

}  // namespace

BenchRun dataplane_run(const BenchOptions& options) {
    return dataplane_run({.bench = options});
}

void add_dataplane_bench(CLI::App& app, Command& chosen) {
    CLI::App* command =
        app.add_subcommand("dataplane",
                           "The data plane beside dpdk-testpmd, kxdpgun, trafgen and "
                           "dnsperf: cycles a frame, rates, answers, the ledger");
    const auto options = options_for<DataplaneOptions>(
        *command, chosen,
        [](const DataplaneOptions& typed) { return run_bench(typed.bench, dataplane_run(typed)); });
    command
        ->add_option("--only", options->bench.only,
                     "generator, verify, loop, ledger, veth, answers, growth (may be repeated)")
        ->delimiter(',')
        ->check(CLI::IsMember(step_ids()));
    command
        ->add_option("--seconds", options->seconds,
                     "how long each lane sends in each round "
                     "(default 1)")
        ->check(CLI::Range(0.05, 60.0));
    command
        ->add_option("--packets", options->packets,
                     "frames of the ledger's proof (default 50000000)")
        ->check(CLI::Range(std::uint64_t{1'000}, std::uint64_t{100'000'000'000}));
    command->add_option("--seed", options->seed, "of the ledger's proof (default 1)");
    add_bench_options(*command, options->bench);
}

}  // namespace pathproof::cli
