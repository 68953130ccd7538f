// Small tools for kernel sockets: addresses, and waiting with a deadline.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/file.h"
#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"

namespace pathproof::agent {

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t length = 0;
    sockaddr* raw() { return reinterpret_cast<sockaddr*>(&storage); }
    const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

SocketAddress to_socket_address(const frame::Endpoint& endpoint);
frame::Endpoint to_endpoint(const sockaddr_storage& storage);
int socket_family(const frame::IpAddress& address);
bool is_unspecified(const frame::IpAddress& address);

// The address a bound socket really has (port 0 resolved).
Result<frame::Endpoint> local_endpoint(int socket);

// A moment after which waiting is over.
class Deadline {
  public:
    using Clock = std::chrono::steady_clock;
    explicit Deadline(std::chrono::milliseconds from_now) : at_(Clock::now() + from_now) {}
    bool passed() const { return Clock::now() >= at_; }
    int poll_milliseconds() const;  // rounded up, 0 when passed

  private:
    Clock::time_point at_;
};

double milliseconds_since(Deadline::Clock::time_point begin);

// Waits for poll(2) events on a descriptor; false when the deadline passed first.
bool wait_for(int descriptor, short events, const Deadline& deadline);

// A non-blocking, close-on-exec socket.
Result<Fd> open_socket(int family, int type, int protocol);

// SO_ERROR, which it takes off the socket: an errno, or 0.
int pending_error(int socket);

// Connects a TCP socket; the value is 0, ETIMEDOUT when the deadline passed, or the errno of the
// refusal.
int connect_before(int socket, const frame::Endpoint& server, const Deadline& deadline);

// Allows this process 16384 descriptors, or as many as it may have: slow connections stay open while
// others are made, and the usual 1024 are few.
void allow_descriptors();

// DNS over TCP has each message behind its length (RFC 1035 section 4.2.2); several may come at once
// (RFC 7766). What is taken off a stream is its first whole message; nothing: there is none yet.
void put_message(std::vector<std::uint8_t>& stream, std::span<const std::uint8_t> message);
std::optional<std::vector<std::uint8_t>> take_message(std::vector<std::uint8_t>& stream);

// Describes the errno of a connection or a send for the user: "connection refused".
std::string describe_errno(int number);

// Turns the errno of a failed system call into an error: EPERM and EACCES say to run as root.
Failure system_failure(const std::string& doing, int number);

}  // namespace pathproof::agent
