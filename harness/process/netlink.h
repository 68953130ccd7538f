// A netlink socket in the network namespace of the calling thread: rtnetlink, generic netlink. That of conntrack is
// netfilter/socket.h.
#pragma once

#include <libmnl/libmnl.h>

#include <functional>
#include <vector>

#include "dataplane/base/owned.h"
#include "dataplane/base/result.h"

namespace pathproof::process {

// Size of an answer's datagram; a device with many virtual functions needs more than libmnl's usual
// buffer.
inline constexpr std::size_t kNetlinkBytes = 64 * 1024;

class NetlinkSocket {
  public:
    // `protocol`: NETLINK_ROUTE and others; `groups`: those that it listens to (RTMGRP_LINK).
    static Result<NetlinkSocket> open(int protocol, unsigned groups = 0);

    mnl_socket* get() const { return socket_.get(); }

    // Sends a request that ends with an answer of its own (NLM_F_DUMP or NLM_F_ACK), and gives `take` each message before
    // that. 0, or the errno of the socket or of the kernel's answer. After EINTR, of a dump that changed on the way, the
    // rest of it still waits: the socket is then fit for closing only.
    int exchange(nlmsghdr& request, const std::function<void(const nlmsghdr&)>& take);

  private:
    explicit NetlinkSocket(mnl_socket* socket) : socket_(socket) {}

    Owned<mnl_socket, mnl_socket_close> socket_;
    std::vector<char> answer_;
    unsigned sequence_ = 0;
};

}  // namespace pathproof::process
