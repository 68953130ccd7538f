// Many DNS lookups over UDP at once or at a rate, each from a socket of its own.
#pragma once

#include <span>

#include "dataplane/base/result.h"
#include "harness/agent/dns_load_report.h"

namespace pathproof::agent {

// An error means that none could be made; a lookup without an answer is a value. What could not be
// begun in twice the time that the rate says, or before a stop (process::stopping), is left out.
Result<DnsLoadReport> dns_load(const DnsLoadOptions& options);

// Returns whether the message has all the questions and records that it promises.
bool is_whole_dns(std::span<const std::uint8_t> message);

}  // namespace pathproof::agent
