// Carrying out what a lab has a host change (agent/host_change.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/agent/host_change.h"
#include "harness/lab/front_rules.h"
#include "harness/lab/journal.h"

namespace pathproof::lab {

// The chains of ours that stand in front of others' rules on a host, by table.
using HostFronts = std::map<std::string, FrontChains>;

// In the calling thread's network namespace, in order, up to the first that fails.
Status apply(const std::vector<agent::HostChange>& changes, Journal& journal, HostFronts& fronts);

}  // namespace pathproof::lab
