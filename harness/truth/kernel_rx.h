// The receiving side of a kernel device: the matrix's good and bad frames sent to it by a tester's
// port, and what the kernel says of each through a packet socket (PACKET_AUXDATA).
#pragma once

#include <string>

#include "harness/agent/client.h"
#include "harness/truth/rows.h"

namespace pathproof::truth {

// Sent by the tester's first port, at the other end of the device's cable. TP_STATUS_CSUM_VALID is
// a claim that the outermost transport checksum is good, TP_STATUS_CSUMNOTREADY that it is
// unfinished and the data good (packet(7)); nothing is ever said of IP headers, and nothing is
// called bad.
Result<RowsRun> receive_by_kernel(tester::Client& tester, agent::Client& agent,
                                  const std::string& device, const RowSettings& settings);

}  // namespace pathproof::truth
