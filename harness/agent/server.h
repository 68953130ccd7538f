// The agent itself: answers the operations of agent::Client in the namespace it was started in.
#pragma once

#include <functional>

#include "dataplane/base/result.h"
#include "harness/process/rpc.h"

namespace pathproof::agent {

// Reads requests from `input` and answers on `output` until the input ends; then its servers and
// its conntrack listener end too. `more` adds operations to those of this room.
void serve(int input, int output, const std::function<void(process::RpcServer&)>& more = {});

}  // namespace pathproof::agent
