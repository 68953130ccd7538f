#include "harness/process/netlink.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace pathproof::process {

Result<NetlinkSocket> NetlinkSocket::open(int protocol, unsigned groups) {
    NetlinkSocket socket(mnl_socket_open2(protocol, SOCK_CLOEXEC));
    if (!socket.socket_ || mnl_socket_bind(socket.get(), groups, MNL_SOCKET_AUTOPID) < 0) {
        return fail(ErrorCode::kFailed, "open a netlink socket: {}", std::strerror(errno));
    }
    return socket;
}

int NetlinkSocket::exchange(nlmsghdr& request, const std::function<void(const nlmsghdr&)>& take) {
    using Take = std::function<void(const nlmsghdr&)>;
    request.nlmsg_seq = ++sequence_;
    if (mnl_socket_sendto(get(), &request, request.nlmsg_len) < 0) {
        return errno;
    }
    const auto on_message = [](const nlmsghdr* message, void* taker) {
        (*static_cast<const Take*>(taker))(*message);
        return MNL_CB_OK;
    };
    answer_.resize(kNetlinkBytes);
    for (;;) {
        const ssize_t got = mnl_socket_recvfrom(get(), answer_.data(), answer_.size());
        const int state = got < 0 ? MNL_CB_ERROR
                                  : mnl_cb_run(answer_.data(), static_cast<std::size_t>(got),
                                               sequence_, mnl_socket_get_portid(get()), on_message,
                                               const_cast<void*>(static_cast<const void*>(&take)));
        if (state <= MNL_CB_STOP) {
            return state < 0 ? errno : 0;
        }
    }
}

}  // namespace pathproof::process
