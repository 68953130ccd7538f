#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "harness/cli/commands.h"
#include "harness/host/service.h"
#include "harness/process/netns.h"

namespace pathproof::cli {
namespace {

// Standard output carries the protocol and nothing else: whatever a library prints goes to standard
// error.
Result<int> run_agent(const std::string& netns) {
    TRY(process::enter_netns(netns, process::SysfsView::kRemount));
    const int output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    const int input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (output < 0 || input < 0 || nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 ||
        dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        return fail(ErrorCode::kFailed, "agent: standard input, output and error must be open");
    }
    host::serve(input, output);
    return 0;
}

}  // namespace

void add_agent(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand("agent",
                                           "Answer a controller's requests (JSON lines on standard "
                                           "input and output); started by pathproof");
    auto netns = std::make_shared<std::string>();
    command->add_option("--netns", *netns, "Network namespace of this machine that it works in");
    command->callback([&chosen, netns] { chosen = [netns] { return run_agent(*netns); }; });
}

}  // namespace pathproof::cli
