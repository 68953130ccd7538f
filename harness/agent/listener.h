// Listening sockets of the servers, and accepting from them within the loop.
#pragma once

#include <functional>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"
#include "harness/agent/reactor.h"
#include "harness/agent/socket.h"

namespace pathproof::agent {

// A bound UDP socket that tells the address each datagram was sent to, so that the answer leaves
// from it.
Result<Fd> bind_udp(const frame::Endpoint& at);

// A listening TCP socket.
Result<Fd> listen_tcp(const frame::Endpoint& at);

// Gives each accepted connection (non-blocking) to `take`. When the process runs out of
// descriptors, accepting pauses for a moment instead of spinning.
Status accept_all(Reactor& reactor, int listener, std::function<void(Fd)> take);

// A TCP server's socket, and a loop of its own that accepts from it. The last member of a server: so
// it ends before what its callbacks use.
class TcpLoop {
  public:
    // Gives each accepted connection to `take`, on the loop's thread. Port 0 takes a free one.
    Status start(const frame::Endpoint& listen, std::function<void(Fd)> take);
    const frame::Endpoint& endpoint() const { return endpoint_; }
    Reactor& reactor() { return *reactor_; }

  private:
    frame::Endpoint endpoint_;
    Fd listener_;
    std::unique_ptr<Reactor> reactor_;  // ends with its destruction
};

}  // namespace pathproof::agent
