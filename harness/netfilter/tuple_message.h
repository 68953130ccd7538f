// Tuples as attributes of a request. For .cc files of this room.
#pragma once

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <netinet/in.h>

#include <cstdint>

#include "harness/netfilter/entry.h"

namespace pathproof::netfilter {

// Parts of a tuple that a request carries, by the kernel's bits for filters: CTA_FILTER_F_* of its
// nf_internals.h. They are part of the netlink interface but in no uapi header.
namespace part {
inline constexpr std::uint32_t kSourceAddress = 1u << 0;
inline constexpr std::uint32_t kDestinationAddress = 1u << 1;
inline constexpr std::uint32_t kProtocol = 1u << 3;
inline constexpr std::uint32_t kSourcePort = 1u << 4;
inline constexpr std::uint32_t kDestinationPort = 1u << 5;
inline constexpr std::uint32_t kIcmpType = 1u << 6;
inline constexpr std::uint32_t kIcmpCode = 1u << 7;
inline constexpr std::uint32_t kIcmpId = 1u << 8;
inline constexpr std::uint32_t kIcmpv6Type = 1u << 9;
inline constexpr std::uint32_t kIcmpv6Code = 1u << 10;
inline constexpr std::uint32_t kIcmpv6Id = 1u << 11;
inline constexpr std::uint32_t kAddresses = kSourceAddress | kDestinationAddress;
inline constexpr std::uint32_t kPorts = kSourcePort | kDestinationPort;
inline constexpr std::uint32_t kIcmp = kIcmpType | kIcmpCode | kIcmpId;
inline constexpr std::uint32_t kIcmpv6 = kIcmpv6Type | kIcmpv6Code | kIcmpv6Id;
}  // namespace part

inline std::uint8_t kernel_family(frame::Family family) {
    return family == frame::Family::kIpv4 ? AF_INET : AF_INET6;
}

// Returns all parts that a tuple of its protocol has.
inline std::uint32_t all_parts(const Tuple& tuple) {
    const std::uint32_t common = part::kAddresses | part::kProtocol;
    if (!tuple.icmp) {
        return common | part::kPorts;
    }
    return common | (tuple.protocol == IPPROTO_ICMPV6 ? part::kIcmpv6 : part::kIcmp);
}

inline void put_ip(nlmsghdr& request, std::uint16_t v4, std::uint16_t v6,
                   const frame::IpAddress& ip) {
    const bool ipv4 = ip.family == frame::Family::kIpv4;
    mnl_attr_put(&request, ipv4 ? v4 : v6, ip.size(), ip.bytes.data());
}

// Puts the parts of the tuple as CTA_TUPLE_ORIG or CTA_TUPLE_REPLY.
inline void put_tuple(nlmsghdr& request, std::uint16_t type, const Tuple& tuple,
                      std::uint32_t parts) {
    const auto icmp = tuple.icmp.value_or(Tuple::Icmp{});
    nlattr* outer = mnl_attr_nest_start(&request, type);
    nlattr* addresses = mnl_attr_nest_start(&request, CTA_TUPLE_IP);
    if (parts & part::kSourceAddress) {
        put_ip(request, CTA_IP_V4_SRC, CTA_IP_V6_SRC, tuple.source.address);
    }
    if (parts & part::kDestinationAddress) {
        put_ip(request, CTA_IP_V4_DST, CTA_IP_V6_DST, tuple.destination.address);
    }
    mnl_attr_nest_end(&request, addresses);
    nlattr* protocol = mnl_attr_nest_start(&request, CTA_TUPLE_PROTO);
    const auto put_u8 = [&](std::uint32_t wanted, std::uint16_t attribute, std::uint8_t value) {
        if (parts & wanted) {
            mnl_attr_put_u8(&request, attribute, value);
        }
    };
    const auto put_u16 = [&](std::uint32_t wanted, std::uint16_t attribute, std::uint16_t value) {
        if (parts & wanted) {
            mnl_attr_put_u16(&request, attribute, htons(value));
        }
    };
    put_u8(part::kProtocol, CTA_PROTO_NUM, tuple.protocol);
    put_u16(part::kSourcePort, CTA_PROTO_SRC_PORT, tuple.source.port);
    put_u16(part::kDestinationPort, CTA_PROTO_DST_PORT, tuple.destination.port);
    put_u8(part::kIcmpType, CTA_PROTO_ICMP_TYPE, icmp.type);
    put_u8(part::kIcmpCode, CTA_PROTO_ICMP_CODE, icmp.code);
    put_u16(part::kIcmpId, CTA_PROTO_ICMP_ID, icmp.id);
    put_u8(part::kIcmpv6Type, CTA_PROTO_ICMPV6_TYPE, icmp.type);
    put_u8(part::kIcmpv6Code, CTA_PROTO_ICMPV6_CODE, icmp.code);
    put_u16(part::kIcmpv6Id, CTA_PROTO_ICMPV6_ID, icmp.id);
    mnl_attr_nest_end(&request, protocol);
    mnl_attr_nest_end(&request, outer);
}

}  // namespace pathproof::netfilter
