// The neighbours of a command that sends at a rate: the next hop's MAC address is found by asking, and ARP
// and neighbour discovery are answered for the addresses of the run.
#pragma once

#include <atomic>
#include <optional>

#include "dataplane/load/load_run.h"
#include "harness/cli/generate/lanes.h"
#include "harness/cli/generate/traffic_options.h"

namespace pathproof::cli {

void add_link_options(CLI::App& command, LinkOptions& options);

// Puts the sending port's MAC address into the plan where none was typed, and the stations that
// answer, unless --no-arp was given.
void take_stations(const TrafficOptions& options, Lanes& lanes, load::LoadPlan& plan);

// The next hop's MAC address; nothing: it was typed. A next hop that was asked for also learns the
// addresses of the run and gets one frame ahead of it. Errors (kUnavailable): nobody answers.
Result<std::optional<frame::MacAddress>> find_next_hop(const TrafficOptions& options,
                                                       const load::LoadPlan& plan,
                                                       const std::atomic<bool>& stop);
// Puts it where the frames leave for: in the envelope, if there is one.
void set_next_hop(const std::optional<frame::MacAddress>& mac, load::SourcePlan& source);

}  // namespace pathproof::cli
