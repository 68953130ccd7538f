#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "harness/cli/arguments.h"
#include "harness/cli/commands.h"
#include "harness/guest/init.h"
#include "harness/process/child.h"
#include "harness/process/programs.h"
#include "harness/process/streams.h"

namespace pathproof::cli {
namespace {

bool asks_for_help(char** argv) {
    for (; *argv != nullptr; ++argv) {
        const std::string_view word(*argv);
        if (word == "--help" || word == "-h") {
            return true;
        }
    }
    return false;
}

// Becomes pathproof-bench, the program of the benchmarks, which stands beside this one; `argv` are
// its arguments, "bench" in place of its name. Where it was not built: a sentence that says how to.
int run_bench_program(char** argv) {
    const std::string program = process::own_binary() + "-bench";
    execv(program.c_str(), argv);
    if (asks_for_help(argv)) {
        fmt::print(
            "Measure pathproof beside the usual tools, in this run: pathproof bench "
            "[dataplane|inspect]\n"
            "\nThe benchmarks are a program of its own, which is not built here: in the source "
            "tree\n"
            "'ninja -C build pathproof-bench' makes it, and 'build/pathproof bench --help' has its "
            "options.\n");
        return 0;
    }
    return complain(Error{
        ErrorCode::kNotFound,
        fmt::format("{} cannot be started ({}): the benchmarks are built where they are wanted, "
                    "with 'ninja -C build pathproof-bench' in the source tree, and run there as "
                    "'build/pathproof bench'",
                    program, std::strerror(errno))});
}

int run_command_line(int argc, char** argv) {
    if (argc > 1 && std::string_view(argv[1]) == "bench") {
        return run_bench_program(argv + 1);
    }
    if (argc > 2 && std::string_view(argv[1]) == "help" && std::string_view(argv[2]) == "bench") {
        std::string name = argv[2];
        std::string help = "--help";
        char* words[] = {name.data(), help.data(), nullptr};
        return run_bench_program(words);
    }
    CLI::App app{
        "pathproof: proves whether a NIC, driver, kernel and CNI carry every packet right"};
    Command chosen;
    add_commands(app, chosen);
    return run_chosen(app, chosen, argc, argv);
}

}  // namespace
}  // namespace pathproof::cli

int main(int argc, char** argv) {
    if (pathproof::guest::is_init(argv[0])) {
        pathproof::guest::run_init();
    }
    pathproof::process::hold_standard_streams();
    pathproof::process::start_known_programs_only();
    return pathproof::process::exit_code_of(pathproof::cli::run_command_line(argc, argv));
}
