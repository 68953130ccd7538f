// The receiving side of a kernel device: the matrix's good and bad frames sent to it by a tester's
// port, and what the kernel says of each through a packet socket (PACKET_AUXDATA).
#pragma once

#include <string>

#include "harness/agent/client.h"
#include "harness/tester/client.h"
#include "harness/truth/rows.h"

namespace pathproof::truth {

// The tester's first port, at the other end of the device's cable, sends them (KernelExchange).
Result<RowsRun> receive_by_kernel(tester::Client& tester, agent::Client& agent,
                                  const std::string& device, const RowSettings& settings);

}  // namespace pathproof::truth
