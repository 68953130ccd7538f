#include "tests/monitor/lab_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <utility>

#include "harness/process/netns.h"

namespace pathproof::monitor::lab {

sockaddr_in end_of(const char* address, std::uint16_t port) {
    sockaddr_in there{};
    there.sin_family = AF_INET;
    there.sin_port = htons(port);
    inet_pton(AF_INET, address, &there.sin_addr);
    return there;
}

std::string address_of(const sockaddr_in& end) {
    char text[INET_ADDRSTRLEN];
    return inet_ntop(AF_INET, &end.sin_addr, text, sizeof text);
}

LabSocket::LabSocket(const std::string& netns, int type) {
    const auto opened = process::in_netns(netns, [&]() -> Status {
        fd_ = socket(AF_INET, type | SOCK_CLOEXEC, 0);
        return {};
    });
    BOOST_REQUIRE(opened && fd_ >= 0);
    const timeval wait{.tv_sec = 3, .tv_usec = 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
}

LabSocket::LabSocket(LabSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

LabSocket::~LabSocket() {
    if (fd_ >= 0) {
        close(fd_);
    }
}

void LabSocket::bind(const char* address, std::uint16_t port) {
    const sockaddr_in here = end_of(address, port);
    BOOST_REQUIRE(::bind(fd_, reinterpret_cast<const sockaddr*>(&here), sizeof here) == 0);
}

void LabSocket::listen() {
    BOOST_REQUIRE(::listen(fd_, 128) == 0);
}

void LabSocket::connect(const char* address, std::uint16_t port) {
    const sockaddr_in there = end_of(address, port);
    fcntl(fd_, F_SETFL, O_NONBLOCK);
    (void)::connect(fd_, reinterpret_cast<const sockaddr*>(&there), sizeof there);
}

void LabSocket::send_to(const sockaddr_in& there) {
    BOOST_REQUIRE(sendto(fd_, "q", 1, 0, reinterpret_cast<const sockaddr*>(&there), sizeof there) ==
                  1);
}

std::optional<sockaddr_in> LabSocket::receive() {
    return take(0);
}

std::optional<sockaddr_in> LabSocket::receive_waiting() {
    return take(MSG_DONTWAIT);
}

std::optional<sockaddr_in> LabSocket::take(int flags) {
    sockaddr_in from{};
    socklen_t length = sizeof from;
    char byte = 0;
    const ssize_t got = recvfrom(fd_, &byte, 1, flags, reinterpret_cast<sockaddr*>(&from), &length);
    return got == 1 ? std::optional(from) : std::nullopt;
}

}  // namespace pathproof::monitor::lab
