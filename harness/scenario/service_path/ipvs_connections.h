// The connections that IPVS has on the DUT.
#pragma once

#include <string>
#include <vector>

#include "harness/agent/client.h"
#include "harness/lab/nat_path.h"

namespace pathproof::scenario {

// The lines of `ipvsadm -L -c -n`, a space between the words: "UDP 04:58 UDP 198.18.0.2:40000
// 198.51.100.10:53 203.0.113.2:53".
Result<std::vector<std::string>> ipvs_connections(agent::Client& dut);
// Returns the connection of the service on UDP with that source port; empty: IPVS has no such
// connection.
Result<std::string> ipvs_connection(agent::Client& dut, const lab::NatPathNames& names,
                                    std::uint16_t source_port);

}  // namespace pathproof::scenario
