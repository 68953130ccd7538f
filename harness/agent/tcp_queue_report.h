// The queue of a listening TCP socket.
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/frame/address.h"
#include "harness/message/fields.h"

namespace pathproof::agent {

// The queue of a listening TCP socket, looked at every 10 ms.
struct TcpQueue {
    struct Connection {
        frame::Endpoint peer;
        // CLOCK_REALTIME of the looks that saw it so; 0: none did.
        std::int64_t first_waiting_ns = 0;
        std::int64_t last_waiting_ns = 0;
        std::int64_t accepted_ns = 0;
        // For how long, at the longest, something that the server had sent stayed without an ACK.
        std::int64_t unacknowledged_ns = 0;
        bool operator==(const Connection&) const = default;
    };
    std::vector<Connection> connections;
    std::uint32_t most_waiting = 0;  // the socket's Recv-Q
    std::uint64_t looks = 0;
};
PACKED_FIELDS(TcpQueue::Connection, peer, first_waiting_ns, last_waiting_ns, accepted_ns,
              unacknowledged_ns)
FIELDS(TcpQueue, connections, most_waiting, looks)

}  // namespace pathproof::agent
