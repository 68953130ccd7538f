#include <unistd.h>

#include <CLI/CLI.hpp>

#include "harness/cli/commands.h"
#include "harness/tester/service.h"

namespace pathproof::cli {
namespace {

// Drivers may print: what they say goes to stderr, not among the answers.
int run() {
    const int channel = dup(STDIN_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    return channel < 0 ? 3 : tester::serve(channel, channel);
}

}  // namespace

void add_tester(CLI::App& app, Command& chosen) {
    CLI::App* command =
        app.add_subcommand("tester", "Hold the DPDK ports (started by pathproof itself)");
    command->group("");
    command->callback([&chosen] { chosen = [] { return run(); }; });
}

}  // namespace pathproof::cli
