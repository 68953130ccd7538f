#include "harness/netfilter/socket.h"

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <vector>

#include "harness/netfilter/netlink.h"
#include "harness/process/netns.h"

namespace pathproof::netfilter {
namespace {

// The kernel answers at once; what takes this long does not come.
constexpr timeval kAnswerTimeout{.tv_sec = 10, .tv_usec = 0};

Failure no_socket(int error_number) {
    if (error_number == EPROTONOSUPPORT || error_number == EAFNOSUPPORT) {
        return fail(ErrorCode::kKernelLacks,
                    "this kernel has no netfilter netlink (CONFIG_NETFILTER_NETLINK): conntrack "
                    "cannot be read");
    }
    return fail(ErrorCode::kFailed, "open a netfilter netlink socket: {}",
                std::strerror(error_number));
}

// The sentence in an extended acknowledgement (NLMSGERR_ATTR_MSG), or nothing.
std::string kernel_reason(const nlmsghdr& message, const nlmsgerr& error) {
    std::size_t offset = sizeof(nlmsgerr);
    if (!(message.nlmsg_flags & NLM_F_ACK_TLVS)) {
        return {};
    }
    if (!(message.nlmsg_flags & NLM_F_CAPPED)) {
        offset += MNL_ALIGN(error.msg.nlmsg_len) - sizeof(nlmsghdr);
    }
    std::string reason;
    each_in_message(message, offset, [&](std::uint16_t type, const nlattr& attribute) {
        if (type == NLMSGERR_ATTR_MSG) {
            reason = load_text(attribute);
        }
    });
    return reason;
}

// The kernel writes errno negated. Of the least int there is no negative.
int error_number(int code) {
    return -std::max(code, -std::numeric_limits<int>::max());
}

}  // namespace

Result<Progress> read_end(const nlmsghdr& message) {
    if (message.nlmsg_type == NLMSG_DONE) {
        int code = 0;
        if (mnl_nlmsg_get_payload_len(&message) >= sizeof code) {
            std::memcpy(&code, mnl_nlmsg_get_payload(&message), sizeof code);
        }
        if (code < 0) {
            return Failure(ctnetlink_error(error_number(code), "read from ctnetlink", {}));
        }
        return Progress::kDone;
    }
    if (message.nlmsg_type != NLMSG_ERROR) {
        return Progress::kMore;
    }
    if (mnl_nlmsg_get_payload_len(&message) < sizeof(nlmsgerr)) {
        return fail(ErrorCode::kFailed,
                    "ctnetlink answered with an error message that is cut short");
    }
    const auto* error = static_cast<const nlmsgerr*>(mnl_nlmsg_get_payload(&message));
    if (error->error != 0) {
        return Failure(ctnetlink_error(error_number(error->error), "ask ctnetlink",
                                       kernel_reason(message, *error)));
    }
    return Progress::kDone;
}

Error ctnetlink_error(int error_number, const std::string& doing, const std::string& reason) {
    switch (error_number) {
        case EPERM:
        case EACCES:
            return {ErrorCode::kNotPermitted,
                    doing +
                        ": conntrack needs CAP_NET_ADMIN in this network namespace; "
                        "run as root"};
        case EINVAL:
        case EOPNOTSUPP: {
            // nfnetlink_rcv_msg answers EINVAL when no subsystem is registered for the message.
            const std::string why = reason.empty() ? std::strerror(error_number) : reason;
            return {ErrorCode::kKernelLacks,
                    doing + ": the kernel refuses (" + why +
                        "); it may lack nf_conntrack_netlink (CONFIG_NF_CT_NETLINK): "
                        "try 'modprobe nf_conntrack_netlink'"};
        }
        case ENOENT: return {ErrorCode::kNotFound, doing + ": there is no such entry"};
        default: break;
    }
    return {ErrorCode::kFailed, doing + ": " + std::strerror(error_number) +
                                    (reason.empty() ? "" : " (" + reason + ")")};
}

void Socket::Close::operator()(mnl_socket* socket) const {
    mnl_socket_close(socket);
}

Result<Socket> Socket::open(const std::string& netns) {
    mnl_socket* opened = nullptr;
    TRY(process::in_netns(netns, [&]() -> Status {
        opened = mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC);
        return opened != nullptr ? Status() : Status(no_socket(errno));
    }));
    Socket socket(opened);
    if (mnl_socket_bind(opened, 0, MNL_SOCKET_AUTOPID) != 0) {
        return fail(ErrorCode::kFailed, "bind a netfilter netlink socket: {}",
                    std::strerror(errno));
    }
    // Kernels without these (before 4.12) give shorter error answers: no reason to fail.
    int on = 1;
    mnl_socket_setsockopt(opened, NETLINK_EXT_ACK, &on, sizeof on);
    mnl_socket_setsockopt(opened, NETLINK_CAP_ACK, &on, sizeof on);
    setsockopt(socket.fd(), SOL_SOCKET, SO_RCVTIMEO, &kAnswerTimeout, sizeof kAnswerTimeout);
    return socket;
}

int Socket::fd() const {
    return mnl_socket_get_fd(socket_.get());
}

Result<std::size_t> Socket::set_receive_buffer(std::size_t bytes) {
    const int wanted = static_cast<int>(std::min<std::size_t>(bytes, std::size_t{1} << 30));
    if (setsockopt(fd(), SOL_SOCKET, SO_RCVBUFFORCE, &wanted, sizeof wanted) != 0 &&
        setsockopt(fd(), SOL_SOCKET, SO_RCVBUF, &wanted, sizeof wanted) != 0) {
        return fail(ErrorCode::kFailed, "set the netlink receive buffer to {} bytes: {}", wanted,
                    std::strerror(errno));
    }
    int granted = 0;
    socklen_t length = sizeof granted;
    getsockopt(fd(), SOL_SOCKET, SO_RCVBUF, &granted, &length);
    return static_cast<std::size_t>(granted);
}

Status Socket::join(unsigned group) {
    if (mnl_socket_setsockopt(socket_.get(), NETLINK_ADD_MEMBERSHIP, &group, sizeof group) != 0) {
        return Failure(ctnetlink_error(errno, "listen to conntrack events", {}));
    }
    return {};
}

Result<std::uint32_t> Socket::send(nlmsghdr& message) {
    message.nlmsg_seq = ++sequence_;
    if (mnl_socket_sendto(socket_.get(), &message, message.nlmsg_len) < 0) {
        return Failure(ctnetlink_error(errno, "ask ctnetlink", {}));
    }
    return sequence_;
}

Result<std::span<const std::byte>> Socket::receive(std::span<std::byte> buffer) {
    while (true) {
        const ssize_t got = recv(fd(), buffer.data(), buffer.size(), MSG_TRUNC);
        if (got >= 0 && static_cast<std::size_t>(got) <= buffer.size()) {
            return buffer.first(static_cast<std::size_t>(got));
        }
        if (got >= 0) {
            return fail(ErrorCode::kFailed,
                        "ctnetlink sent a datagram of {} bytes, more than the {} it may", got,
                        buffer.size());
        }
        if (errno == EAGAIN) {
            return fail(ErrorCode::kUnavailable, "ctnetlink did not answer within {} s",
                        kAnswerTimeout.tv_sec);
        }
        if (errno != EINTR) {
            return Failure(ctnetlink_error(errno, "read from ctnetlink", {}));
        }
    }
}

Status Socket::request(nlmsghdr& message, const MessageVisitor& visit) {
    const auto sequence = TRY(send(message));
    std::vector<std::byte> buffer(kAnswerBytes);
    while (true) {
        const auto datagram = TRY(receive(buffer));
        MessageReader answers(datagram);
        while (const nlmsghdr* answer = answers.next()) {
            if (answer->nlmsg_seq != sequence) {
                continue;
            }
            const auto progress = TRY(read_end(*answer));
            if (progress == Progress::kDone) {
                return {};
            }
            visit(*answer);
        }
    }
}

nlmsghdr& begin_request(void* buffer, std::uint8_t type, std::uint16_t flags, std::uint8_t family) {
    nlmsghdr* message = mnl_nlmsg_put_header(buffer);
    message->nlmsg_type = static_cast<std::uint16_t>(NFNL_SUBSYS_CTNETLINK << 8 | type);
    message->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    auto* generic = static_cast<nfgenmsg*>(mnl_nlmsg_put_extra_header(message, sizeof(nfgenmsg)));
    generic->nfgen_family = family;
    generic->version = NFNETLINK_V0;
    generic->res_id = 0;
    return *message;
}

}  // namespace pathproof::netfilter
