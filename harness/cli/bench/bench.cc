// pathproof bench: measurements beside the usual tools, in this run.
#include <CLI/CLI.hpp>
#include <memory>

#include "harness/cli/bench/run.h"

namespace pathproof::cli {
namespace {

int run_all(const BenchOptions& options) {
    BenchRun all = dataplane_run(options);
    const BenchRun inspect = inspect_run(options);
    all.name = "all";
    all.command = "pathproof bench" + repeat_options(options);
    all.tools.insert(all.tools.end(), inspect.tools.begin(), inspect.tools.end());
    all.steps.insert(all.steps.end(), inspect.steps.begin(), inspect.steps.end());
    return run_bench(options, all);
}

}  // namespace

void add_bench(CLI::App& app, Command& chosen) {
    const auto options = std::make_shared<BenchOptions>();
    CLI::App* command =
        app.add_subcommand("bench",
                           "Measure pathproof beside the usual tools, in this run: all of "
                           "it, or one of the commands below");
    command->require_subcommand(0, 1);
    add_bench_options(*command, *options);
    add_inspect_bench(*command, chosen);
    add_dataplane_bench(*command, chosen);
    add_bench_workers(*command, chosen);
    command->callback([&chosen, options, command] {
        if (command->get_subcommands().empty()) {
            chosen = [options] { return run_all(*options); };
        }
    });
}

}  // namespace pathproof::cli
