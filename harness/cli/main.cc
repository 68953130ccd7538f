#include <CLI/CLI.hpp>
#include <string_view>

#include "harness/cli/arguments.h"
#include "harness/cli/bench_program.h"
#include "harness/cli/commands.h"
#include "harness/guest/init.h"
#include "harness/process/streams.h"

namespace {

int run_command_line(int argc, char** argv) {
    using namespace pathproof::cli;
    if (argc > 1 && std::string_view(argv[1]) == "bench") {
        return run_bench_program(argv + 1);
    }
    CLI::App app{
        "pathproof: proves whether a NIC, driver, kernel and CNI carry every packet right"};
    app.set_version_flag("--version", "pathproof " PATHPROOF_VERSION);
    app.require_subcommand(1);
    Command chosen;
    add_qualify(app, chosen);
    add_repro(app, chosen);
    add_inspect(app, chosen);
    add_offload(app, chosen);
    add_generate(app, chosen);
    add_respond(app, chosen);
    add_wire(app, chosen);
    add_search(app, chosen);
    add_lab(app, chosen);
    add_profile(app, chosen);
    app.add_subcommand("bench", "Measure pathproof beside the usual tools, in this run");
    add_compare(app, chosen);
    add_rerun(app, chosen);
    add_baseline(app, chosen);
    add_restore(app, chosen);
    add_k8s(app, chosen);
    add_agent(app, chosen);
    add_tester(app, chosen);
    return run_chosen(app, chosen, argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
    if (pathproof::guest::is_init(argv[0])) {
        pathproof::guest::run_init();
    }
    pathproof::process::hold_standard_streams();
    return pathproof::process::exit_code_of(run_command_line(argc, argv));
}
