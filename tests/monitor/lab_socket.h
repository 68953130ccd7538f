// Sockets inside a namespace.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <optional>
#include <string>

namespace pathproof::monitor::lab {

sockaddr_in end_of(const char* address, std::uint16_t port);

class LabSocket {
  public:
    // `type`: SOCK_DGRAM or SOCK_STREAM; never blocks for longer than three seconds.
    LabSocket(const std::string& netns, int type);
    LabSocket(LabSocket&& other) noexcept;
    LabSocket(const LabSocket&) = delete;
    ~LabSocket();

    void bind(const char* address, std::uint16_t port);
    void listen();
    // Begins to connect, and does not wait for it.
    void connect(const char* address, std::uint16_t port);
    void send_to(const sockaddr_in& there);
    // Takes one packet; who sent it, nothing when none came in time.
    std::optional<sockaddr_in> receive();
    // As above, but only what is there already.
    std::optional<sockaddr_in> receive_waiting();

  private:
    std::optional<sockaddr_in> take(int flags);
    int fd_ = -1;
};

// "10.1.0.2"
std::string address_of(const sockaddr_in& end);

}  // namespace pathproof::monitor::lab
