// The queue of a listening TCP socket, looked at again and again: which connections wait there until
// they are accepted.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"
#include "harness/agent/tcp_queue_report.h"

namespace pathproof::agent {

// A line of /proc/net/tcp: IPv4.
struct TcpSocket {
    frame::Endpoint local;
    frame::Endpoint peer;
    unsigned state = 0;               // TCP_ESTABLISHED ... (netinet/tcp.h)
    std::uint32_t send_queue = 0;     // sent, or to be sent, and not acknowledged
    std::uint32_t receive_queue = 0;  // of a listening socket: connections that wait
    std::uint64_t inode = 0;          // 0: no process holds it
};
// Lines that are none are passed over.
std::vector<TcpSocket> tcp_sockets(std::string_view text);

// From start() to stop(), in the network namespace of the thread that starts it.
class TcpQueueWatch {
  public:
    static Result<std::unique_ptr<TcpQueueWatch>> start(const frame::Endpoint& listener);
    virtual ~TcpQueueWatch() = default;
    virtual TcpQueue stop() = 0;
};

}  // namespace pathproof::agent
