#include <CLI/CLI.hpp>
#include <memory>

#include "harness/cli/commands.h"
#include "harness/lab/journal.h"

namespace pathproof::cli {
namespace {

// A lab that is kept up and a run that goes on are no leftovers; but who asks for the machine to be
// put back should know of them.
void name_what_stays() {
    const auto runs = lab::list_runs();
    if (!runs) {
        return;
    }
    for (const lab::RunInfo& run : *runs) {
        if (run.state == lab::RunInfo::State::kKept) {
            fmt::print("lab {} ({}) is kept up; 'pathproof lab down {}' takes it down\n",
                       run.run_id, run.what, run.run_id);
        } else if (run.state == lab::RunInfo::State::kLive) {
            fmt::print("run {} (pid {}, '{}') goes on: it puts back itself what it changed\n",
                       run.run_id, run.pid, run.command);
        }
    }
}

int restore() {
    const auto restored = lab::restore_all();
    if (!restored) {
        return complain(restored.error());
    }
    for (const std::string& sentence : *restored) {
        fmt::print("{}\n", sentence);
    }
    if (restored->empty()) {
        fmt::print("nothing had to be put back\n");
    }
    name_what_stays();
    return 0;
}

}  // namespace

void add_restore(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand(
        "restore",
        "Put back what killed runs left changed on this machine (namespaces, sysctls, "
        "hugepages, offload features, promiscuous mode and XDP programs of ports)");
    command->callback([&chosen] { chosen = restore; });
}

}  // namespace pathproof::cli
