// `pathproof lab init`, `lab check` and `lab bind`: from the cabled ports to a lab that can be run on.
#pragma once

#include "harness/cli/commands.h"

namespace pathproof::cli {

void add_lab_check(CLI::App& lab, Command& chosen);
void add_lab_bind(CLI::App& lab, Command& chosen);
void add_lab_calibrate(CLI::App& lab, Command& chosen);
void add_lab_init(CLI::App& lab, Command& chosen);

}  // namespace pathproof::cli
