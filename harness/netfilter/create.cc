#include "harness/netfilter/create.h"

#include <libmnl/libmnl.h>
#include <linux/netfilter/nf_conntrack_tcp.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "harness/netfilter/netlink.h"
#include "harness/netfilter/socket.h"
#include "harness/netfilter/tuple_message.h"

namespace pathproof::netfilter {
namespace {

// nfnetlink walks all messages of a datagram.
constexpr std::size_t kBatchBytes = 32 * 1024;
constexpr std::size_t kLargestRequest = 512;

void put_tcp_state(nlmsghdr& message) {
    nlattr* info = mnl_attr_nest_start(&message, CTA_PROTOINFO);
    nlattr* tcp = mnl_attr_nest_start(&message, CTA_PROTOINFO_TCP);
    mnl_attr_put_u8(&message, CTA_PROTOINFO_TCP_STATE, TCP_CONNTRACK_ESTABLISHED);
    mnl_attr_nest_end(&message, tcp);
    mnl_attr_nest_end(&message, info);
}

void put_translation(nlmsghdr& message, const frame::IpAddress& to) {
    nlattr* nat = mnl_attr_nest_start(&message, CTA_NAT_DST);
    put_ip(message, CTA_NAT_V4_MINIP, CTA_NAT_V6_MINIP, to);
    put_ip(message, CTA_NAT_V4_MAXIP, CTA_NAT_V6_MAXIP, to);
    mnl_attr_nest_end(&message, nat);
}

// Writes the request that makes the entry; gives its length.
std::size_t put_entry(void* at, const NewEntry& entry) {
    nlmsghdr& message = begin_request(at, IPCTNL_MSG_CT_NEW, NLM_F_CREATE | NLM_F_EXCL,
                                      kernel_family(entry.source.address.family));
    const Tuple there{entry.source, entry.destination, entry.protocol, {}};
    put_tuple(message, CTA_TUPLE_ORIG, there, all_parts(there));
    put_tuple(message, CTA_TUPLE_REPLY, turned(there), all_parts(there));
    if (entry.translated) {
        put_translation(message, *entry.translated);
    }
    mnl_attr_put_u32(&message, CTA_STATUS, htonl(entry.status));
    mnl_attr_put_u32(&message, CTA_TIMEOUT, htonl(entry.timeout_s));
    if (entry.protocol == IPPROTO_TCP) {
        put_tcp_state(message);
    }
    return MNL_ALIGN(message.nlmsg_len);
}

// Requests carry no NLM_F_ACK: the kernel answers those only that it refuses.
Status read_refusal(int socket) {
    std::array<std::byte, 8192> buffer;
    const ssize_t got = recv(socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0) {
        return {};
    }
    MessageReader messages({buffer.data(), static_cast<std::size_t>(got)});
    while (const nlmsghdr* message = messages.next()) {
        int code = 0;
        if (message->nlmsg_type == NLMSG_ERROR &&
            mnl_nlmsg_get_payload_len(message) >= sizeof code) {
            std::memcpy(&code, mnl_nlmsg_get_payload(message), sizeof code);
        }
        if (code == -ENOMEM) {
            return fail(ErrorCode::kUnavailable,
                        "the conntrack table took no more entries (net.netfilter.nf_conntrack_max "
                        "or memory)");
        }
        if (code != 0) {
            return Failure(ctnetlink_error(-code, "make a conntrack entry", {}));
        }
    }
    return {};
}

Status send_batch(int socket, const std::vector<std::byte>& batch, std::size_t length) {
    const sockaddr_nl kernel{.nl_family = AF_NETLINK, .nl_pad = 0, .nl_pid = 0, .nl_groups = 0};
    const auto* to = reinterpret_cast<const sockaddr*>(&kernel);
    if (sendto(socket, batch.data(), length, 0, to, sizeof kernel) < 0) {
        return Failure(ctnetlink_error(errno, "make conntrack entries", {}));
    }
    return read_refusal(socket);
}

}  // namespace

Status create_entries(const std::string& netns, std::uint64_t count,
                      const std::function<NewEntry(std::uint64_t)>& entry) {
    const auto socket = TRY(Socket::open(netns));
    std::vector<std::byte> batch(kBatchBytes);
    std::size_t used = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        used += put_entry(batch.data() + used, entry(i));
        if (used + kLargestRequest < batch.size() && i + 1 < count) {
            continue;
        }
        TRY(send_batch(socket.fd(), batch, used));
        used = 0;
    }
    return {};
}

Status create_entry(Socket& socket, const Entry& entry) {
    alignas(nlmsghdr) char buffer[4096];
    nlmsghdr& request =
        begin_request(buffer, IPCTNL_MSG_CT_NEW, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK,
                      kernel_family(entry.original.source.address.family));
    put_tuple(request, CTA_TUPLE_ORIG, entry.original, all_parts(entry.original));
    put_tuple(request, CTA_TUPLE_REPLY, entry.reply, all_parts(entry.reply));
    mnl_attr_put_u32(&request, CTA_TIMEOUT, htonl(600));
    mnl_attr_put_u32(&request, CTA_MARK, htonl(entry.mark));
    mnl_attr_put_u32(&request, CTA_STATUS, htonl(entry.status));
    mnl_attr_put_u16(&request, CTA_ZONE, htons(entry.zone));
    return socket.request(request);
}

}  // namespace pathproof::netfilter
