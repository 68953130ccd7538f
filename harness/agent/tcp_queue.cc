#include "harness/agent/tcp_queue.h"

#include <algorithm>
#include <map>
#include <thread>

#include "dataplane/base/clock.h"
#include "dataplane/base/file.h"
#include "harness/agent/operations.h"
#include "harness/process/foreign.h"

namespace pathproof::agent {
namespace {

constexpr const char* kTable = "/proc/thread-self/net/tcp";
constexpr milliseconds kLookEvery{10};
// As the table has them: the kernel's include/net/tcp_states.h. <netinet/tcp.h>, which names them too, does not go with
// <linux/tcp.h> in one unit.
enum TcpState : unsigned { kEstablished = 1, kSynReceived = 3, kCloseWait = 8, kListen = 10 };

// The kernel prints the address as a number of its own byte order.
frame::IpAddress as_printed(unsigned number) {
    return frame::IpAddress::v4(__builtin_bswap32(number));
}

struct QueueLooker final : TcpQueueWatch {
    frame::Endpoint listener;
    std::map<frame::Endpoint, TcpQueue::Connection> connections;
    std::map<frame::Endpoint, std::int64_t> unacknowledged_since;
    TcpQueue seen;
    std::jthread looker;

    void look() {
        const std::int64_t now = realtime_ns();
        ++seen.looks;
        for (const TcpSocket& socket : tcp_sockets(read_file(kTable).value_or(""))) {
            if (socket.local != listener) {
                continue;
            }
            if (socket.state == kListen) {
                seen.most_waiting = std::max(seen.most_waiting, socket.receive_queue);
                continue;
            }
            // SYN_RECV: the handshake does not end while the queue is full.
            if (socket.state != kEstablished && socket.state != kCloseWait &&
                socket.state != kSynReceived) {
                continue;
            }
            TcpQueue::Connection& connection =
                connections.try_emplace(socket.peer, TcpQueue::Connection{.peer = socket.peer})
                    .first->second;
            if (socket.inode == 0) {
                connection.first_waiting_ns =
                    connection.first_waiting_ns == 0 ? now : connection.first_waiting_ns;
                connection.last_waiting_ns = now;
            } else if (connection.accepted_ns == 0) {
                connection.accepted_ns = now;
            }
            std::int64_t& since = unacknowledged_since[socket.peer];
            if (socket.send_queue == 0) {
                since = 0;
            } else if (since == 0) {
                since = now;
            }
            connection.unacknowledged_ns =
                std::max(connection.unacknowledged_ns, since == 0 ? 0 : now - since);
        }
    }

    TcpQueue stop() override {
        looker.request_stop();
        looker.join();
        for (const auto& [peer, connection] : connections) {
            seen.connections.push_back(connection);
        }
        return seen;
    }
};

}  // namespace

std::vector<TcpSocket> tcp_sockets(std::string_view text) {
    std::vector<TcpSocket> sockets;
    for (const std::string& line : process::lines_of(text)) {
        unsigned local = 0, peer = 0, local_port = 0, peer_port = 0, state = 0, send = 0,
                 receive = 0;
        unsigned long inode = 0;
        if (std::sscanf(line.c_str(),
                        " %*d: %8x:%4x %8x:%4x %2x %8x:%8x %*2x:%*8x %*8x %*d %*d %lu", &local,
                        &local_port, &peer, &peer_port, &state, &send, &receive, &inode) == 8) {
            sockets.push_back({{as_printed(local), static_cast<std::uint16_t>(local_port)},
                               {as_printed(peer), static_cast<std::uint16_t>(peer_port)},
                               state,
                               send,
                               receive,
                               inode});
        }
    }
    return sockets;
}

Result<std::unique_ptr<TcpQueueWatch>> TcpQueueWatch::start(const frame::Endpoint& listener) {
    if (read_file(kTable).value_or("").empty()) {
        return fail(ErrorCode::kKernelLacks, "{} is not there", kTable);
    }
    auto watch = std::make_unique<QueueLooker>();
    watch->listener = listener;
    watch->looker = std::jthread([&own = *watch](const std::stop_token& stop) {
        for (; !stop.stop_requested(); std::this_thread::sleep_for(kLookEvery)) {
            own.look();
        }
    });
    return watch;
}

Status Client::start_tcp_queue(const frame::Endpoint& listener) {
    return impl_->ask<void>("start_tcp_queue", listener);
}

Result<TcpQueue> Client::stop_tcp_queue() {
    return impl_->ask<TcpQueue>("stop_tcp_queue");
}

void add_tcp_queue(Operations& operations) {
    operations.add_one<TcpQueueWatch, frame::Endpoint>("tcp_queue", "a watch of a queue");
}

}  // namespace pathproof::agent
