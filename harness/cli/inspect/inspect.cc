// pathproof inspect: what netfilter's connection tracking holds, does and counts in a namespace.
#include <CLI/CLI.hpp>

#include "harness/cli/inspect/commands.h"

namespace pathproof::cli {

void add_inspect(CLI::App& app, Command& chosen) {
    CLI::App* inspect = app.add_subcommand(
        "inspect", "Conntrack entries, events and counters of a network namespace");
    inspect->require_subcommand(1);
    inspect::add_dump(*inspect, chosen);
    inspect::add_watch(*inspect, chosen);
    inspect::add_stats(*inspect, chosen);
    inspect::add_top(*inspect, chosen);
    inspect::add_drops(*inspect, chosen);
    inspect::add_export(*inspect, chosen);
    inspect::add_clashes(*inspect, chosen);
    inspect::add_backends(*inspect, chosen);
    inspect::add_fate(*inspect, chosen);
    inspect::add_stale(*inspect, chosen);
    inspect::add_why(*inspect, chosen);
    inspect::add_dns(*inspect, chosen);
    inspect::add_doctor(*inspect, chosen);
    inspect::add_hazards(*inspect, chosen);
}

}  // namespace pathproof::cli
