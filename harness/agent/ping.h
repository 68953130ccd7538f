// ICMP and ICMPv6 echo through a raw socket, or a ping socket where raw ones are not permitted.
#pragma once

#include "dataplane/base/result.h"
#include "harness/agent/client.h"

namespace pathproof::agent {

// Sends `options.count` echo requests, one each interval, and waits for each up to
// `options.timeout`. A reply counts when its identifier, sequence number and every payload byte are
// right. `ok`: every request was answered so.
Result<ProbeResult> ping(const PingOptions& options);

}  // namespace pathproof::agent
