// The sub-commands of `pathproof inspect`: one file each. `add_x` declares the sub-command's
// options on `inspect`; when it is the one that was typed, parsing sets `chosen` to the function
// that runs it.
#pragma once

#include "harness/cli/commands.h"

namespace pathproof::cli::inspect {

void add_dump(CLI::App& inspect, Command& chosen);
void add_watch(CLI::App& inspect, Command& chosen);
void add_stats(CLI::App& inspect, Command& chosen);
void add_top(CLI::App& inspect, Command& chosen);
void add_drops(CLI::App& inspect, Command& chosen);
void add_export(CLI::App& inspect, Command& chosen);
void add_clashes(CLI::App& inspect, Command& chosen);
void add_backends(CLI::App& inspect, Command& chosen);
void add_fate(CLI::App& inspect, Command& chosen);
void add_why(CLI::App& inspect, Command& chosen);
void add_stale(CLI::App& inspect, Command& chosen);
void add_dns(CLI::App& inspect, Command& chosen);
void add_doctor(CLI::App& inspect, Command& chosen);
void add_hazards(CLI::App& inspect, Command& chosen);

}  // namespace pathproof::cli::inspect
