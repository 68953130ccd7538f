// Facts of a device under test and of the tester's ports, for the report's environment.
#pragma once

#include <string>
#include <vector>

#include "harness/agent/client.h"
#include "harness/lab/snat.h"
#include "harness/profile/profile.h"
#include "harness/scenario/measured.h"
#include "harness/tester/client.h"
#include "harness/verdict/result.h"

namespace pathproof::scenario {

// Driver, bus, link, how it is set (rings, channels, ...) and every offload feature ("on", "off", "on [fixed]") as the agent reads them.
Result<verdict::FactGroup> device_facts(agent::Client& agent, const std::string& device,
                                        const std::string& title);

// Notes a device of the DUT in what the run keeps: its facts under that title, and the item that it is.
Status know_device(Measured& measured, agent::Client& agent, const std::string& device,
                   const std::string& title);

// Kernel, board and CPU of the agent's host, where that is not this machine.
Result<std::vector<verdict::FactGroup>> host_facts(agent::Client& agent);

// Compares, feature by feature, the profile's expectations of a device with its driver's offer.
Result<verdict::FactGroup> profile_facts(agent::Client& agent, const std::string& device,
                                         const profile::Profile& profile);

// Returns the facts that a lab gives about one of its roles.
verdict::FactGroup role_facts(const lab::RoleFacts& facts, const std::string& title);

// Driver, evidence class and offloads of the tester's own ports.
verdict::FactGroup port_facts(const std::vector<port::PortInfo>& ports, const std::string& title);

}  // namespace pathproof::scenario
