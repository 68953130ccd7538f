// The agent itself: answers the operations of agent::Client in the namespace it was started in.
#pragma once

#include "dataplane/base/result.h"

namespace pathproof::agent {

// Reads requests from `input` and answers on `output` until the input ends; then its servers and
// its conntrack listener end too.
void serve(int input, int output);

}  // namespace pathproof::agent
