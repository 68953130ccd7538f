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
    Command chosen;
    add_commands(app, chosen);
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
