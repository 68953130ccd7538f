// Finds what may change or lose frames between the device under test and the tester's port, beside the
// device itself, as far as this machine can see it.
#pragma once

#include <string>
#include <vector>

#include "harness/scenario/scenario.h"
#include "harness/truth/conclude.h"

namespace pathproof::scenario {

// Each with the command that shows it or takes it away: XDP programs, tc filters and queues that
// mangle, nftables chains of a device, a peer that is not the tester's port. Nothing is said of the
// device's end where it is on another machine, but for its XDP program.
std::vector<std::string> between(const TruthDevice& device, const truth::PathFacts& path);

// The device of `ip -json link`, of a veth pair: whether two ends are each other's, by index and
// namespace. `ends`: as printed in the namespace of each.
bool are_peers(const std::string& end, const std::string& other);

}  // namespace pathproof::scenario
