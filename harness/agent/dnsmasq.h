// dnsmasq(8) as a DNS server of this namespace, by its command line alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/agent/name_servers.h"

namespace pathproof::agent {

// The numbers of the last line "child processes for TCP requests: in use 20, highest since last
// SIGUSR1 20, max allowed 20.": nothing where there is none, as before 2.90.
std::optional<DnsmasqWorkers> workers_said(const std::vector<std::string>& log);

}  // namespace pathproof::agent
