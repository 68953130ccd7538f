// Names of a run's wrong checksums, by layer: the value for which each would be right.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/frame/address.h"
#include "harness/cli/generate/result.h"

namespace pathproof::cli {

// Names from what the frames were before, where that is known, and from relations that hold in all
// of them. `others`: addresses that a NAT on the way may have put in the place of the frames' own:
// a wrong value that is right for one of them is told by it.
std::vector<SumName> name_sums(const GenerateResult& result,
                               const std::vector<frame::IpAddress>& others);

// Addresses of interfaces and neighbours in the network namespaces of this machine: what a NAT in a
// namespace beside the tester knows. Empty where `ip` cannot tell.
std::vector<frame::IpAddress> addresses_nearby();

}  // namespace pathproof::cli
