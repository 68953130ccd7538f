#include "harness/cli/commands.h"

#include <CLI/CLI.hpp>
#include <string>

#include "dataplane/base/version.h"

namespace pathproof::cli {

void add_commands(CLI::App& app, Command& chosen) {
    app.set_version_flag("--version", std::string("pathproof ") + version());
    app.require_subcommand(1);
    add_qualify(app, chosen);
    add_repro(app, chosen);
    add_inspect(app, chosen);
    add_offload(app, chosen);
    add_generate(app, chosen);
    add_respond(app, chosen);
    add_wire(app, chosen);
    add_search(app, chosen);
    add_verify(app, chosen);
    add_lab(app, chosen);
    add_profile(app, chosen);
    app.add_subcommand("bench", "Measure pathproof beside the usual tools, in this run");
    add_compare(app, chosen);
    add_report(app, chosen);
    add_rerun(app, chosen);
    add_baseline(app, chosen);
    add_history(app, chosen);
    add_restore(app, chosen);
    add_guest(app, chosen);
    add_k8s(app, chosen);
    add_agent(app, chosen);
    add_tester(app, chosen);
    app.add_subcommand("help", "Print the help of a command: pathproof help qualify");
}

}  // namespace pathproof::cli
