// Carrying out what a lab has a host change (agent/host_change.h).
#pragma once

#include <vector>

#include "dataplane/base/result.h"
#include "harness/agent/host_change.h"
#include "harness/lab/journal.h"

namespace pathproof::lab {

// In the calling thread's network namespace, in order, up to the first that fails.
Status apply(const std::vector<agent::HostChange>& changes, Journal& journal);

}  // namespace pathproof::lab
