// Deleting conntrack's entries of a service, as a person does it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"
#include "harness/agent/client.h"

namespace pathproof::scenario {

// `conntrack -D` of the UDP flows to that service.
std::vector<std::string> delete_command(const frame::Endpoint& service);

// Runs such a command on a host, and gives how many entries it deleted. kNotSupported without conntrack-tools.
Result<std::uint64_t> delete_entries(agent::Client& host, const std::vector<std::string>& command);

}  // namespace pathproof::scenario
