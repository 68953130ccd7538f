// Many short TCP connections, one after the other at a rate, and the server that ends them: what a
// client waits for when its connections are made anew again and again.
#pragma once

#include <memory>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"
#include "harness/agent/client.h"

namespace pathproof::agent {

// Accepts connections on a thread of its own until destruction. The side that closes first keeps
// the connection's TIME_WAIT (RFC 9293, section 3.6).
class ClosingServer {
  public:
    static Result<std::unique_ptr<ClosingServer>> start(const ClosingServerOptions& options);
    virtual ~ClosingServer() = default;

    virtual const frame::Endpoint& endpoint() const = 0;
};

// An error means that nothing could be connected at all; a connection that failed is a value.
Result<ConnectsReport> tcp_connects(const ConnectsOptions& options);

}  // namespace pathproof::agent
