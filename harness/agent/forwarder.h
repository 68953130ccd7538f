// A DNS forwarder with the rules for connections of CoreDNS's plug-in `forward` (plugin/pkg/proxy:
// persistent.go, connect.go): it stands in for CoreDNS, which Debian has no package of. It keeps no
// answers, and makes no health checks.
#pragma once

#include <memory>

#include "dataplane/base/result.h"
#include "harness/agent/forwarder_report.h"

namespace pathproof::agent {

// - a query takes the idle connection that waits longest, or else dials: one for each query that is
//   under way, without a bound; an answer makes its connection idle;
// - no answer 2 s after the query was sent: the connection is closed, and the query tried again;
// - 5 s after the query came its client gets SERVFAIL;
// - every 10 s idle connections that waited for so long are closed.
class Forwarder {
  public:
    static Result<std::unique_ptr<Forwarder>> start(const ForwarderOptions& options);
    virtual ~Forwarder() = default;
    // Closes its connections, and gives what it did.
    virtual ForwarderReport stop() = 0;
};

}  // namespace pathproof::agent
