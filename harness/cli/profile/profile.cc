// pathproof profile: what kinds of NIC are expected to offer, and what is known to be wrong with
// them.
#include <CLI/CLI.hpp>

#include "harness/cli/profile/commands.h"

namespace pathproof::cli {

void add_profile(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand(
        "profile", "What a kind of NIC is expected to offer, and its documented defects");
    command->require_subcommand(1);
    command->footer("Profiles and errata are read from $PATHPROOF_PROFILES, if set.");
    profiles::add_list(*command, chosen);
    profiles::add_show(*command, chosen);
    profiles::add_check(*command, chosen);
    profiles::add_probe(*command, chosen);
    profiles::add_errata(*command, chosen);
}

}  // namespace pathproof::cli
