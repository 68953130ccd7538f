// A DNS server on kernel sockets, UDP and TCP on one port: what a pod's cluster DNS looks like to
// its clients.
#pragma once

#include <memory>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"
#include "harness/agent/client.h"

namespace pathproof::agent {

class DnsServer {
  public:
    // Serves on a thread of its own from the return of start until destruction. Each answer leaves
    // `options.delay` after its query came. Port 0 takes one that is free for both UDP and TCP.
    // An address left 0.0.0.0 (or ::) gives an answer without records, as does any other query
    // type.
    static Result<std::unique_ptr<DnsServer>> start(const DnsServerOptions& options);
    ~DnsServer();

    const frame::Endpoint& endpoint() const;

  private:
    DnsServer();
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace pathproof::agent
