#include "harness/bench/worker.h"

#include <libmnl/libmnl.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <vector>

#include "harness/netfilter/dump.h"
#include "harness/netfilter/netlink.h"
#include "harness/netfilter/socket.h"

namespace pathproof::bench {
namespace {

// netlink_recvmsg lets the kernel fill up to 32 KiB once a reader has offered as much.
constexpr std::size_t kReceiveBytes = 64 * 1024;

enum class End { kNotYet, kReached };

Result<End> look_for_end(const std::vector<std::byte>& buffer, std::size_t length,
                         Drained& drained) {
    netfilter::MessageReader messages({buffer.data(), length});
    while (const nlmsghdr* message = messages.next()) {
        if (message->nlmsg_type == NLMSG_DONE) {
            return End::kReached;
        }
        if (message->nlmsg_type == NLMSG_ERROR) {
            return fail(ErrorCode::kFailed, "ctnetlink refused the dump");
        }
        ++drained.messages;
    }
    return End::kNotYet;
}

}  // namespace

Result<Drained> drain_table() {
    const auto socket = TRY(netfilter::Socket::open(""));
    alignas(nlmsghdr) std::array<char, 256> request{};
    const nlmsghdr& message =
        netfilter::begin_request(request.data(), IPCTNL_MSG_CT_GET, NLM_F_DUMP, AF_UNSPEC);
    const sockaddr_nl kernel{.nl_family = AF_NETLINK, .nl_pad = 0, .nl_pid = 0, .nl_groups = 0};
    if (sendto(socket.fd(), &message, message.nlmsg_len, 0,
               reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel) < 0) {
        return Failure(netfilter::ctnetlink_error(errno, "ask for the conntrack table", {}));
    }
    std::vector<std::byte> buffer(kReceiveBytes);
    Drained drained;
    while (true) {
        const ssize_t got = recv(socket.fd(), buffer.data(), buffer.size(), 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return Failure(netfilter::ctnetlink_error(errno, "read the conntrack table", {}));
        }
        drained.bytes += static_cast<std::uint64_t>(got);
        const auto end = TRY(look_for_end(buffer, static_cast<std::size_t>(got), drained));
        if (end == End::kReached) {
            return drained;
        }
    }
}

Result<Drained> dump_to_nothing() {
    Drained drained;
    const auto summary = TRY(netfilter::dump(
        "", {}, [](const netfilter::Entry&) { return netfilter::Next::kContinue; }));
    drained.messages = summary.entries;
    return drained;
}

}  // namespace pathproof::bench
