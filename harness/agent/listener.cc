#include "harness/agent/listener.h"

#include <netinet/in.h>

#include <cerrno>

namespace pathproof::agent {
namespace {

constexpr int kBacklog = 1024;
constexpr int kUdpBufferBytes = 4 << 20;
constexpr std::chrono::milliseconds kPause{50};

// Explains why a socket does not get this address, by the errno of bind(2) or listen(2).
Failure cannot_listen(const char* protocol, const frame::Endpoint& at, int reason) {
    if (reason == EADDRNOTAVAIL) {
        return fail(ErrorCode::kNotFound,
                    "{} is no address of this namespace (or not ready yet); see 'ip address'",
                    frame::to_string(at.address));
    }
    if (reason == EADDRINUSE) {
        return fail(ErrorCode::kUnavailable,
                    "{} port {} is already in use; 'ss -lnp' shows by whom", protocol,
                    frame::to_string(at));
    }
    return system_failure(fmt::format("listen on {} {}", protocol, frame::to_string(at)), reason);
}

Result<Fd> bind_socket(int type, const frame::Endpoint& at) {
    const int family = socket_family(at.address);
    Fd socket = TRY(open_socket(family, type, 0));
    const int on = 1;
    if (type == SOCK_STREAM) {
        setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    }
    if (family == AF_INET6) {
        setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    }
    const SocketAddress address = to_socket_address(at);
    if (bind(socket.get(), address.raw(), address.length) != 0) {
        return cannot_listen(type == SOCK_STREAM ? "TCP" : "UDP", at, errno);
    }
    return socket;
}

// accept(2): errors of the network that was already gone; the listener itself is well.
bool concerns_one_connection(int number) {
    switch (number) {
        case EINTR:
        case ECONNABORTED:
        case ENETDOWN:
        case EPROTO:
        case ENOPROTOOPT:
        case EHOSTDOWN:
        case EHOSTUNREACH:
        case EOPNOTSUPP:
        case ENETUNREACH: return true;
        default: return false;
    }
}

void accept_ready(Reactor& reactor, int listener, const std::function<void(Fd)>& take) {
    for (;;) {
        Fd connection(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (connection) {
            take(std::move(connection));
            continue;
        }
        if (concerns_one_connection(errno)) {
            continue;
        }
        if (errno != EAGAIN && errno != EWOULDBLOCK) {
            reactor.change(listener, 0);
            reactor.after(kPause, [&reactor, listener] { reactor.change(listener, EPOLLIN); });
        }
        return;
    }
}

}  // namespace

Result<Fd> bind_udp(const frame::Endpoint& at) {
    Fd socket = TRY(bind_socket(SOCK_DGRAM, at));
    const int on = 1;
    const bool ipv4 = at.address.family == frame::Family::kIpv4;
    const int told = ipv4
                         ? setsockopt(socket.get(), IPPROTO_IP, IP_PKTINFO, &on, sizeof on)
                         : setsockopt(socket.get(), IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on);
    if (told != 0) {
        return system_failure("ask for destination addresses of datagrams", errno);
    }
    // A server that drops in its own buffer would look like loss on the path. Without CAP_NET_ADMIN
    // the ordinary limit of net.core.rmem_max holds.
    if (setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kUdpBufferBytes,
                   sizeof kUdpBufferBytes) != 0) {
        setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &kUdpBufferBytes, sizeof kUdpBufferBytes);
    }
    return socket;
}

Result<Fd> listen_tcp(const frame::Endpoint& at) {
    Result<Fd> socket = bind_socket(SOCK_STREAM, at);
    if (socket && listen(socket->get(), kBacklog) != 0) {
        return cannot_listen("TCP", at, errno);
    }
    return socket;
}

Status accept_all(Reactor& reactor, int listener, std::function<void(Fd)> take) {
    return reactor.watch(listener, EPOLLIN, [&reactor, listener, take = std::move(take)] {
        accept_ready(reactor, listener, take);
    });
}

Status TcpLoop::start(const frame::Endpoint& listen, std::function<void(Fd)> take) {
    listener_ = TRY(listen_tcp(listen));
    endpoint_ = TRY(local_endpoint(listener_.get()));
    reactor_ = TRY(Reactor::create());
    TRY(accept_all(*reactor_, listener_.get(), std::move(take)));
    reactor_->start();
    return {};
}

}  // namespace pathproof::agent
