// The tables of nftables in a namespace, asked of the kernel itself: nft reads every rule before it
// lists them.
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/hazards/ruleset.h"

namespace pathproof::hazards {

// Without a kernel that has nftables there are none.
Result<std::vector<Table>> read_nft_tables(const std::string& netns);

}  // namespace pathproof::hazards
