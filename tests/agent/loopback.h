// Sockets on 127.0.0.1 that play the other side in tests.
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <thread>

#include "harness/agent/socket.h"

namespace pathproof::agent::test {

inline frame::Endpoint endpoint(const char* text) {
    return frame::parse_endpoint(text).value();
}
inline frame::IpAddress ip(const char* text) {
    return frame::parse_ip(text).value();
}

inline bool try_bind(const Fd& socket, std::uint16_t port) {
    const SocketAddress address = to_socket_address({ip("127.0.0.1"), port});
    return bind(socket.get(), address.raw(), address.length) == 0;
}

// A bound socket of 127.0.0.1 on a free port that blocks.
inline Fd bound(int type) {
    Fd socket(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
    BOOST_REQUIRE(try_bind(socket, 0));
    if (type == SOCK_STREAM) {
        BOOST_REQUIRE(listen(socket.get(), 64) == 0);
    }
    return socket;
}

inline frame::Endpoint where(const Fd& socket) {
    return local_endpoint(socket.get()).value();
}

// A UDP and a TCP socket on one port: a port that is free for UDP may be taken for TCP.
struct BothBound {
    Fd udp, tcp;
};
inline BothBound both_bound() {
    for (int tries = 0; tries < 100; ++tries) {
        BothBound both{bound(SOCK_DGRAM), Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))};
        if (try_bind(both.tcp, where(both.udp).port) && listen(both.tcp.get(), 64) == 0) {
            return both;
        }
    }
    BOOST_REQUIRE_MESSAGE(false, "no port that is free for UDP and TCP");
    return {};
}

// A TCP port of 127.0.0.1 that nobody listens on.
inline frame::Endpoint closed_port(int type) {
    return where(bound(type));
}

// Joins at the end of the scope, also when a BOOST_REQUIRE leaves it early.
class Helper {
  public:
    explicit Helper(std::function<void()> work) : thread_(std::move(work)) {}
    ~Helper() { join(); }
    void join() {
        if (thread_.joinable()) {
            thread_.join();
        }
    }

  private:
    std::thread thread_;
};

// Limits how long a blocking call of a helper may take, so that a broken test ends.
inline void limit_waiting(int socket) {
    const timeval limit{.tv_sec = 5, .tv_usec = 0};
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

}  // namespace pathproof::agent::test
