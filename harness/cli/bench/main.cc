// pathproof bench: measurements beside the usual tools, in this run.
#include <CLI/CLI.hpp>

#include "harness/cli/arguments.h"
#include "harness/cli/bench/run.h"
#include "harness/cli/commands.h"
#include "harness/process/streams.h"

namespace pathproof::cli {
namespace {

Result<int> run_all(const BenchOptions& options) {
    BenchRun all = dataplane_run(options);
    const BenchRun inspect = inspect_run(options);
    all.name = "all";
    all.command = "pathproof bench" + repeat_options(options);
    all.tools.insert(all.tools.end(), inspect.tools.begin(), inspect.tools.end());
    all.steps.insert(all.steps.end(), inspect.steps.begin(), inspect.steps.end());
    return run_bench(options, all);
}

int run_bench_line(int argc, char** argv) {
    CLI::App app{
        "Measure pathproof beside the usual tools, in this run: all of it, or one of the commands "
        "below",
        "pathproof bench"};
    app.require_subcommand(0, 1);
    BenchOptions options;
    Command chosen;
    add_bench_options(app, options);
    add_inspect_bench(app, chosen);
    add_dataplane_bench(app, chosen);
    add_bench_workers(app, chosen);
    add_agent(app, chosen);  // of the labs that it builds
    app.callback([&] {
        if (app.get_subcommands().empty()) {
            chosen = [&options] { return run_all(options); };
        }
    });
    return run_chosen(app, chosen, argc, argv);
}

}  // namespace
}  // namespace pathproof::cli

int main(int argc, char** argv) {
    pathproof::process::hold_standard_streams();
    return pathproof::process::exit_code_of(pathproof::cli::run_bench_line(argc, argv));
}
