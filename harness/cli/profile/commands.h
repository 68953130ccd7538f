// The sub-commands of `pathproof profile`: one file each. `add_x` declares the sub-command's
// options on `profile`; when it is the one that was typed, parsing sets `chosen` to the function
// that runs it.
#pragma once

#include "harness/cli/commands.h"

namespace pathproof::cli::profiles {

void add_list(CLI::App& profile, Command& chosen);
void add_show(CLI::App& profile, Command& chosen);
void add_check(CLI::App& profile, Command& chosen);
void add_probe(CLI::App& profile, Command& chosen);
void add_errata(CLI::App& profile, Command& chosen);

}  // namespace pathproof::cli::profiles
