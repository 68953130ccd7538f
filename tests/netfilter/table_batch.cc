#include "tests/netfilter/table_batch.h"

#include <sys/socket.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstring>
#include <vector>

#include "harness/netfilter/netlink.h"
#include "harness/netfilter/socket.h"
#include "harness/netfilter/tuple_message.h"

namespace pathproof::netfilter::lab {
namespace {

constexpr std::array<std::uint8_t, 9> kProtocols{IPPROTO_TCP,     IPPROTO_UDP,  IPPROTO_TCP,
                                                 IPPROTO_UDPLITE, IPPROTO_SCTP, IPPROTO_ICMP,
                                                 IPPROTO_GRE,     50,           IPPROTO_UDP};
constexpr std::size_t kBatchBytes = 24 * 1024;
constexpr unsigned kTcpStates = 9;  // the last one, SYN_SENT2, cannot be set
constexpr unsigned kSctpStates = 9;

Tuple original_tuple(std::uint32_t number, bool ipv4) {
    const auto base =
        ipv4 ? frame::IpAddress::v4(198u << 24 | 18u << 16) : frame::parse_ip("2001:db8::").value();
    Tuple tuple;
    tuple.source = {base.plus(number % 100'000), static_cast<std::uint16_t>(1024 + number % 4999)};
    tuple.destination = {base.plus(100'000 + number % 7), static_cast<std::uint16_t>(number % 97)};
    tuple.protocol = kProtocols[number % kProtocols.size()];
    if (tuple.protocol == IPPROTO_ICMP) {
        tuple.protocol = ipv4 ? std::uint8_t{IPPROTO_ICMP} : std::uint8_t{IPPROTO_ICMPV6};
        tuple.icmp = Tuple::Icmp{static_cast<std::uint8_t>(ipv4 ? 8 : 128), 0,
                                 static_cast<std::uint16_t>(number)};
    }
    return tuple;
}

Tuple reply_tuple(Tuple tuple) {
    std::swap(tuple.source, tuple.destination);
    if (tuple.icmp) {
        tuple.icmp->type = tuple.icmp->type == 8 ? 0 : 129;
    }
    return tuple;
}

std::uint32_t parts_of(const Tuple& tuple) {
    const std::uint32_t whole = part::kAddresses | part::kProtocol;
    switch (tuple.protocol) {
        case IPPROTO_ICMP: return whole | part::kIcmp;
        case IPPROTO_ICMPV6: return whole | part::kIcmpv6;
        case 50: return whole;
        default: return whole | part::kPorts;
    }
}

bool is_ipv4(std::uint32_t number) {
    return number % 4 != 3;
}

// Kind of the entry's zone: 0: none, 1: of the original direction, 2: of the reply direction, 3: of
// both.
unsigned zone_kind(std::uint32_t number) {
    return number / 5 % 4;
}
std::uint16_t zone_of(std::uint32_t number) {
    return static_cast<std::uint16_t>(1 + number % 11);
}

// A zone of one direction stands in that direction's tuple.
void put_zoned_tuple(nlmsghdr& message, std::uint32_t number, std::uint16_t type,
                     const Tuple& tuple) {
    auto* outer = static_cast<nlattr*>(mnl_nlmsg_get_payload_tail(&message));
    put_tuple(message, type, tuple, parts_of(tuple));
    if (zone_kind(number) == (type == CTA_TUPLE_ORIG ? 1 : 2)) {
        mnl_attr_put_u16(&message, CTA_TUPLE_ZONE, htons(zone_of(number)));
        mnl_attr_nest_end(&message, outer);
    }
}

void put_zone(nlmsghdr& message, std::uint32_t number) {
    if (zone_kind(number) == 3) {
        mnl_attr_put_u16(&message, CTA_ZONE, htons(zone_of(number)));
    }
}

void put_state(nlmsghdr& message, const Tuple& tuple, std::uint32_t number) {
    const bool tcp = tuple.protocol == IPPROTO_TCP;
    if (!tcp && tuple.protocol != IPPROTO_SCTP) {
        return;
    }
    nlattr* info = mnl_attr_nest_start(&message, CTA_PROTOINFO);
    nlattr* nest = mnl_attr_nest_start(
        &message, static_cast<std::uint16_t>(tcp ? CTA_PROTOINFO_TCP : CTA_PROTOINFO_SCTP));
    if (tcp) {
        mnl_attr_put_u8(&message, CTA_PROTOINFO_TCP_STATE,
                        static_cast<std::uint8_t>(number / 9 % kTcpStates));
    } else {
        mnl_attr_put_u8(&message, CTA_PROTOINFO_SCTP_STATE,
                        static_cast<std::uint8_t>(number / 9 % kSctpStates));
        mnl_attr_put_u32(&message, CTA_PROTOINFO_SCTP_VTAG_ORIGINAL, htonl(1));
        mnl_attr_put_u32(&message, CTA_PROTOINFO_SCTP_VTAG_REPLY, htonl(2));
    }
    mnl_attr_nest_end(&message, nest);
    mnl_attr_nest_end(&message, info);
}

void put_labels(nlmsghdr& message, std::uint32_t number) {
    std::array<std::uint8_t, 16> labels{};
    labels[number / 6 % 16] = static_cast<std::uint8_t>(1 + number % 255);
    mnl_attr_put(&message, CTA_LABELS, labels.size(), labels.data());
}

std::uint32_t status_of(std::uint32_t number) {
    constexpr std::uint32_t kKinds[]{0, status::kSeenReply, status::kSeenReply | status::kAssured,
                                     status::kFixedTimeout};
    return status::kConfirmed | kKinds[number / 3 % 4];
}

void put_entry(char* at, std::uint32_t number) {
    const bool ipv4 = is_ipv4(number);
    nlmsghdr& message =
        begin_request(at, IPCTNL_MSG_CT_NEW, NLM_F_CREATE | NLM_F_EXCL, ipv4 ? AF_INET : AF_INET6);
    const Tuple original = original_tuple(number, ipv4);
    put_zoned_tuple(message, number, CTA_TUPLE_ORIG, original);
    put_zoned_tuple(message, number, CTA_TUPLE_REPLY, reply_tuple(original));
    put_zone(message, number);
    mnl_attr_put_u32(&message, CTA_TIMEOUT, htonl(600 + number % 80'000));
    mnl_attr_put_u32(&message, CTA_MARK, htonl(number % 5 == 0 ? number : 0));
    mnl_attr_put_u32(&message, CTA_STATUS, htonl(status_of(number)));
    put_state(message, original, number);
    if (number % 6 == 0) {
        put_labels(message, number);
    }
}

void send_all(Socket& socket, const std::vector<char>& bytes, std::size_t used) {
    const ssize_t sent = send(socket.fd(), bytes.data(), used, 0);
    BOOST_REQUIRE_MESSAGE(sent == static_cast<ssize_t>(used), std::strerror(errno));
    std::vector<char> answer(kAnswerBytes);
    // Without NLM_F_ACK the kernel answers errors only.
    const ssize_t refused = recv(socket.fd(), answer.data(), answer.size(), MSG_DONTWAIT);
    BOOST_REQUIRE_MESSAGE(refused < 0, "ctnetlink refused an entry: error "
                                           << reinterpret_cast<const int*>(answer.data() + 16)[0]);
}

// Puts messages for entries `first` on into as many datagrams as they need.
template <typename Put>
void send_messages(const std::string& netns, std::uint32_t count, std::uint32_t first,
                   const Put& put) {
    auto socket = Socket::open(netns);
    BOOST_REQUIRE_MESSAGE(socket, socket.error().message);
    std::vector<char> bytes(kBatchBytes + 4096);
    std::size_t used = 0;
    for (std::uint32_t number = first; number < first + count; ++number) {
        put(bytes.data() + used, number);
        used += MNL_ALIGN(reinterpret_cast<const nlmsghdr*>(bytes.data() + used)->nlmsg_len);
        if (used >= kBatchBytes) {
            send_all(*socket, bytes, used);
            used = 0;
        }
    }
    if (used > 0) {
        send_all(*socket, bytes, used);
    }
}

void put_mark(char* at, std::uint32_t number, std::uint32_t mark) {
    const bool ipv4 = is_ipv4(number);
    nlmsghdr& message = begin_request(at, IPCTNL_MSG_CT_NEW, 0, ipv4 ? AF_INET : AF_INET6);
    put_zoned_tuple(message, number, CTA_TUPLE_ORIG, original_tuple(number, ipv4));
    put_zone(message, number);
    mnl_attr_put_u32(&message, CTA_MARK, htonl(mark));
}

}  // namespace

void insert_mixed(const std::string& netns, std::uint32_t count, std::uint32_t first) {
    send_messages(netns, count, first, put_entry);
}

void mark_mixed(const std::string& netns, std::uint32_t count, std::uint32_t first,
                std::uint32_t mark) {
    send_messages(netns, count, first,
                  [mark](char* at, std::uint32_t number) { put_mark(at, number, mark); });
}

}  // namespace pathproof::netfilter::lab
