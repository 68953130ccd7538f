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

}  // namespace pathproof::agent
