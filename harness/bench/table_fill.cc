#include "harness/bench/table_fill.h"

#include <libmnl/libmnl.h>
#include <linux/netfilter/nf_conntrack_tcp.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "dataplane/frame/address.h"
#include "harness/lab/undo.h"
#include "harness/netfilter/entry.h"
#include "harness/netfilter/netlink.h"
#include "harness/netfilter/socket.h"
#include "harness/netfilter/stats.h"

namespace pathproof::bench {
namespace {

using frame::Endpoint;
using frame::Family;
using frame::IpAddress;

constexpr std::uint32_t kTimeoutSeconds = 86'400;
// nfnetlink walks all messages of a datagram: one system call for some two hundred entries.
constexpr std::size_t kBatchBytes = 32 * 1024;
constexpr std::size_t kLargestMessage = 512;

constexpr std::uint32_t kFirstClient = 0xc6120001;  // 198.18.0.1
constexpr std::uint32_t kServer = 0xcb007102;       // 203.0.113.2
constexpr std::uint32_t kService = 0xc633640a;      // 198.51.100.10
constexpr std::uint32_t kPorts = 60'000;
constexpr std::uint16_t kFirstPort = 1024;

struct NewEntry {
    Endpoint source;
    Endpoint destination;
    std::uint8_t protocol = 0;
    std::uint32_t status = netfilter::status::kConfirmed;
    std::optional<IpAddress> translated;  // destination
};

IpAddress v6(std::uint32_t low) {
    IpAddress address{.family = Family::kIpv6, .bytes = {0x20, 0x01, 0x0d, 0xb8}};
    return address.plus(low);
}

NewEntry entry_number(std::uint64_t index) {
    constexpr std::uint32_t kAnswered =
        netfilter::status::kConfirmed | netfilter::status::kSeenReply | netfilter::status::kAssured;
    const auto client = static_cast<std::uint32_t>(index / kPorts);
    const auto port = static_cast<std::uint16_t>(kFirstPort + index % kPorts);
    NewEntry entry{.source = {IpAddress::v4(kFirstClient + client), port},
                   .destination = {IpAddress::v4(kServer), 443},
                   .protocol = IPPROTO_TCP,
                   .status = kAnswered,
                   .translated = {}};
    switch (index % 8) {
        case 3:
        case 4:
            entry.protocol = IPPROTO_UDP;
            entry.destination.port = 53;
            break;
        case 5:
            entry.protocol = IPPROTO_UDP;
            entry.destination = {IpAddress::v4(kService), 53};
            entry.translated = IpAddress::v4(kServer);
            break;
        case 6:
            entry.source.address = v6(1 + client);
            entry.destination.address = v6(0x10000);
            break;
        case 7:
            entry.protocol = IPPROTO_UDP;
            entry.destination.port = 4789;
            entry.status = netfilter::status::kConfirmed;
            break;
        default: break;
    }
    return entry;
}

void put_address(nlmsghdr& message, std::uint16_t v4_type, std::uint16_t v6_type,
                 const IpAddress& address) {
    mnl_attr_put(&message, address.family == Family::kIpv4 ? v4_type : v6_type, address.size(),
                 address.bytes.data());
}

void put_tuple(nlmsghdr& message, std::uint16_t type, std::uint8_t protocol, const Endpoint& from,
               const Endpoint& to) {
    nlattr* tuple = mnl_attr_nest_start(&message, type);
    nlattr* addresses = mnl_attr_nest_start(&message, CTA_TUPLE_IP);
    put_address(message, CTA_IP_V4_SRC, CTA_IP_V6_SRC, from.address);
    put_address(message, CTA_IP_V4_DST, CTA_IP_V6_DST, to.address);
    mnl_attr_nest_end(&message, addresses);
    nlattr* ports = mnl_attr_nest_start(&message, CTA_TUPLE_PROTO);
    mnl_attr_put_u8(&message, CTA_PROTO_NUM, protocol);
    mnl_attr_put_u16(&message, CTA_PROTO_SRC_PORT, htons(from.port));
    mnl_attr_put_u16(&message, CTA_PROTO_DST_PORT, htons(to.port));
    mnl_attr_nest_end(&message, ports);
    mnl_attr_nest_end(&message, tuple);
}

void put_tcp_state(nlmsghdr& message) {
    nlattr* info = mnl_attr_nest_start(&message, CTA_PROTOINFO);
    nlattr* tcp = mnl_attr_nest_start(&message, CTA_PROTOINFO_TCP);
    mnl_attr_put_u8(&message, CTA_PROTOINFO_TCP_STATE, TCP_CONNTRACK_ESTABLISHED);
    mnl_attr_nest_end(&message, tcp);
    mnl_attr_nest_end(&message, info);
}

void put_translation(nlmsghdr& message, const IpAddress& to) {
    nlattr* nat = mnl_attr_nest_start(&message, CTA_NAT_DST);
    put_address(message, CTA_NAT_V4_MINIP, CTA_NAT_V6_MINIP, to);
    put_address(message, CTA_NAT_V4_MAXIP, CTA_NAT_V6_MAXIP, to);
    mnl_attr_nest_end(&message, nat);
}

// Writes the request that makes the entry; gives its length.
std::size_t put_entry(void* at, const NewEntry& entry) {
    const std::uint8_t family = entry.source.address.family == Family::kIpv4 ? AF_INET : AF_INET6;
    nlmsghdr& message =
        netfilter::begin_request(at, IPCTNL_MSG_CT_NEW, NLM_F_CREATE | NLM_F_EXCL, family);
    put_tuple(message, CTA_TUPLE_ORIG, entry.protocol, entry.source, entry.destination);
    put_tuple(message, CTA_TUPLE_REPLY, entry.protocol, entry.destination, entry.source);
    if (entry.translated) {
        put_translation(message, *entry.translated);
    }
    mnl_attr_put_u32(&message, CTA_STATUS, htonl(entry.status));
    mnl_attr_put_u32(&message, CTA_TIMEOUT, htonl(kTimeoutSeconds));
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
    netfilter::MessageReader messages({buffer.data(), static_cast<std::size_t>(got)});
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
            return Failure(netfilter::ctnetlink_error(-code, "make a conntrack entry", {}));
        }
    }
    return {};
}

Status send_batch(int socket, const std::vector<std::byte>& batch, std::size_t length) {
    const sockaddr_nl kernel{.nl_family = AF_NETLINK, .nl_pad = 0, .nl_pid = 0, .nl_groups = 0};
    const auto* to = reinterpret_cast<const sockaddr*>(&kernel);
    if (sendto(socket, batch.data(), length, 0, to, sizeof kernel) < 0) {
        return Failure(netfilter::ctnetlink_error(errno, "make conntrack entries", {}));
    }
    return read_refusal(socket);
}

}  // namespace

Status fill_table(const std::string& netns, std::uint64_t entries) {
    const auto socket = TRY(netfilter::Socket::open(netns));
    std::vector<std::byte> batch(kBatchBytes);
    std::size_t used = 0;
    for (std::uint64_t i = 0; i < entries; ++i) {
        used += put_entry(batch.data() + used, entry_number(i));
        if (used + kLargestMessage < batch.size() && i + 1 < entries) {
            continue;
        }
        TRY(send_batch(socket.fd(), batch, used));
        used = 0;
    }
    const auto size = TRY(netfilter::table_size(netns));
    if (size.entries != entries) {
        return fail(ErrorCode::kFailed, "the table of namespace {} holds {} entries instead of {}",
                    netns, size.entries, entries);
    }
    return {};
}

Result<std::uint64_t> table_limit() {
    const auto value = lab::read_sysctl("net.netfilter.nf_conntrack_max", {});
    if (!value) {
        return fail(value.error(), "connection tracking is not available here");
    }
    return std::strtoull(value->c_str(), nullptr, 10);
}

}  // namespace pathproof::bench
