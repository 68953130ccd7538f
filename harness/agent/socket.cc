#include "harness/agent/socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace pathproof::agent {

SocketAddress to_socket_address(const frame::Endpoint& endpoint) {
    SocketAddress address;
    if (endpoint.address.family == frame::Family::kIpv4) {
        sockaddr_in in{};
        in.sin_family = AF_INET;
        in.sin_port = htons(endpoint.port);
        std::memcpy(&in.sin_addr, endpoint.address.bytes.data(), sizeof in.sin_addr);
        std::memcpy(&address.storage, &in, sizeof in);
        address.length = sizeof in;
        return address;
    }
    sockaddr_in6 in6{};
    in6.sin6_family = AF_INET6;
    in6.sin6_port = htons(endpoint.port);
    std::memcpy(&in6.sin6_addr, endpoint.address.bytes.data(), sizeof in6.sin6_addr);
    std::memcpy(&address.storage, &in6, sizeof in6);
    address.length = sizeof in6;
    return address;
}

frame::Endpoint to_endpoint(const sockaddr_storage& storage) {
    frame::Endpoint endpoint;
    if (storage.ss_family == AF_INET6) {
        sockaddr_in6 in6{};
        std::memcpy(&in6, &storage, sizeof in6);
        endpoint.address.family = frame::Family::kIpv6;
        std::memcpy(endpoint.address.bytes.data(), &in6.sin6_addr, sizeof in6.sin6_addr);
        endpoint.port = ntohs(in6.sin6_port);
        return endpoint;
    }
    sockaddr_in in{};
    std::memcpy(&in, &storage, sizeof in);
    std::memcpy(endpoint.address.bytes.data(), &in.sin_addr, sizeof in.sin_addr);
    endpoint.port = ntohs(in.sin_port);
    return endpoint;
}

int socket_family(const frame::IpAddress& address) {
    return address.family == frame::Family::kIpv4 ? AF_INET : AF_INET6;
}

bool is_unspecified(const frame::IpAddress& address) {
    return address.bytes == frame::IpAddress().bytes;
}

Result<frame::Endpoint> local_endpoint(int socket) {
    SocketAddress address;
    address.length = sizeof address.storage;
    if (getsockname(socket, address.raw(), &address.length) != 0) {
        return system_failure("read the address of a socket", errno);
    }
    return to_endpoint(address.storage);
}

int Deadline::poll_milliseconds() const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - Clock::now());
    return static_cast<int>(std::max<std::int64_t>(0, left.count()));
}

double milliseconds_since(Deadline::Clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(Deadline::Clock::now() - begin).count();
}

bool wait_for(int descriptor, short events, const Deadline& deadline) {
    for (;;) {
        pollfd entry{.fd = descriptor, .events = events, .revents = 0};
        const int ready = poll(&entry, 1, deadline.poll_milliseconds());
        if (ready > 0) {
            return true;
        }
        if (ready == 0 && deadline.passed()) {
            return false;
        }
    }
}

Result<Fd> open_socket(int family, int type, int protocol) {
    Fd socket_fd(::socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol));
    if (!socket_fd) {
        return system_failure("open a socket", errno);
    }
    return socket_fd;
}

int pending_error(int socket) {
    int reason = 0;
    socklen_t length = sizeof reason;
    getsockopt(socket, SOL_SOCKET, SO_ERROR, &reason, &length);
    return reason;
}

int connect_before(int socket, const frame::Endpoint& server, const Deadline& deadline) {
    const SocketAddress address = to_socket_address(server);
    if (connect(socket, address.raw(), address.length) == 0) {
        return 0;
    }
    if (errno != EINPROGRESS) {
        return errno;
    }
    if (!wait_for(socket, POLLOUT, deadline)) {
        return ETIMEDOUT;
    }
    return pending_error(socket);
}

void allow_descriptors() {
    constexpr rlim_t kDescriptors = 16'384;
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < kDescriptors) {
        limit.rlim_cur = std::min(kDescriptors, limit.rlim_max);
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

void put_message(std::vector<std::uint8_t>& stream, std::span<const std::uint8_t> message) {
    stream.push_back(static_cast<std::uint8_t>(message.size() >> 8));
    stream.push_back(static_cast<std::uint8_t>(message.size()));
    stream.insert(stream.end(), message.begin(), message.end());
}

std::optional<std::vector<std::uint8_t>> take_message(std::vector<std::uint8_t>& stream) {
    constexpr std::ptrdiff_t kHead = 2;
    const std::ptrdiff_t length = stream.size() < kHead ? 0 : stream[0] << 8 | stream[1];
    if (std::ssize(stream) < kHead + length) {
        return std::nullopt;
    }
    const auto begin = stream.begin() + kHead;
    std::vector<std::uint8_t> message(begin, begin + length);
    stream.erase(stream.begin(), begin + length);
    return message;
}

std::string describe_errno(int number) {
    std::string text = std::strerror(number);
    if (!text.empty()) {
        text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
    }
    return text;
}

Failure system_failure(const std::string& doing, int number) {
    switch (number) {
        case EPERM:
        case EACCES:
            return fail(ErrorCode::kNotPermitted, "{}: {}; run as root", doing,
                        describe_errno(number));
        case EOPNOTSUPP:
        case EAFNOSUPPORT:
        case EPROTONOSUPPORT:
            return fail(ErrorCode::kNotSupported, "{}: {}", doing, describe_errno(number));
        case ENODEV:
        case ENOENT: return fail(ErrorCode::kNotFound, "{}: {}", doing, describe_errno(number));
        default: return fail(ErrorCode::kFailed, "{}: {}", doing, describe_errno(number));
    }
}

}  // namespace pathproof::agent
