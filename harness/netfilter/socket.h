// A netlink socket to ctnetlink in a namespace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "dataplane/base/result.h"

struct mnl_socket;
struct nlmsghdr;

namespace pathproof::netfilter {

class Socket {
  public:
    // Opens and binds a socket inside the namespace (empty: the caller's); it can be used from any
    // thread.
    static Result<Socket> open(const std::string& netns);

    int fd() const;

    // Asks for a receive buffer, beyond rmem_max where the capability allows it; gives what the
    // kernel granted.
    Result<std::size_t> set_receive_buffer(std::size_t bytes);
    Status join(unsigned group);

    // Sends a request and gives its sequence number, which the messages of the answer carry.
    Result<std::uint32_t> send(nlmsghdr& message);
    // The next datagram, into `buffer`; what is too long for it is an error.
    Result<std::span<const std::byte>> receive(std::span<std::byte> buffer);

    using MessageVisitor = std::function<void(const nlmsghdr&)>;
    // Sends a request and gives every message of the answer to `visit`, until the kernel's end or
    // error message.
    Status request(
        nlmsghdr& message, const MessageVisitor& visit = [](const nlmsghdr&) {});

  private:
    struct Close {
        void operator()(mnl_socket* socket) const;
    };
    explicit Socket(mnl_socket* socket) : socket_(socket) {}

    std::unique_ptr<mnl_socket, Close> socket_;
    std::uint32_t sequence_ = 0;
};

// netlink_dump() fills as much as the reader offered last, up to 32 KiB (netlink_recvmsg).
inline constexpr std::size_t kAnswerBytes = 32 * 1024;

// Returns whether a message is the kernel's end of an answer: NLMSG_DONE (of a dump, whose payload
// may be an error) or NLMSG_ERROR (zero: success).
enum class Progress { kMore, kDone };
Result<Progress> read_end(const nlmsghdr& message);

// The sentence for an errno that ctnetlink answered with: no CAP_NET_ADMIN, no ctnetlink in this
// kernel, ... `reason` is the kernel's extended acknowledgement, or empty.
Error ctnetlink_error(int error_number, const std::string& doing, const std::string& reason);

// Begins a request of type IPCTNL_MSG_CT_* in a buffer of MNL_SOCKET_BUFFER_SIZE bytes.
nlmsghdr& begin_request(void* buffer, std::uint8_t type, std::uint16_t flags, std::uint8_t family);

}  // namespace pathproof::netfilter
