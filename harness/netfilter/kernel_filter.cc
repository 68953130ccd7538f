#include "harness/netfilter/kernel_filter.h"

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <libnetfilter_conntrack/libnetfilter_conntrack.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <memory>

namespace pathproof::netfilter {
namespace {

// CTA_FILTER_F_* of the kernel's nf_internals.h: which parts of the tuple are to be compared. They
// are part of the netlink interface but in no uapi header.
constexpr std::uint32_t kSourceAddress = 1u << 0;
constexpr std::uint32_t kDestinationAddress = 1u << 1;
constexpr std::uint32_t kProtocol = 1u << 3;
constexpr std::uint32_t kSourcePort = 1u << 4;
constexpr std::uint32_t kDestinationPort = 1u << 5;

// Only a whole IPv4 address: ctnetlink_filter_match_tuple knows no prefixes, and compares IPv6
// addresses the wrong way round up to at least 6.18 (it drops the entries that are equal).
const frame::IpAddress* exact_ipv4(const std::optional<AddressRange>& range) {
    const bool exact =
        range && range->address.family == frame::Family::kIpv4 && range->prefix_bits == 32;
    return exact ? &range->address : nullptr;
}

bool has_ports(std::uint8_t protocol) {
    return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP;
}

std::uint32_t tuple_flags(const Filter& filter, const TupleFilter& tuple) {
    std::uint32_t flags = 0;
    flags |= exact_ipv4(tuple.source) ? kSourceAddress : 0;
    flags |= exact_ipv4(tuple.destination) ? kDestinationAddress : 0;
    if (!filter.protocol) {
        return flags;
    }
    flags |= kProtocol;
    if (has_ports(*filter.protocol)) {
        flags |= tuple.source_port ? kSourcePort : 0;
        flags |= tuple.destination_port ? kDestinationPort : 0;
    }
    return flags;
}

void put_address(nlmsghdr& request, std::uint16_t type, const frame::IpAddress* address) {
    if (address != nullptr) {
        mnl_attr_put(&request, type, 4, address->bytes.data());
    }
}

void put_tuple(nlmsghdr& request, std::uint16_t type, std::uint32_t flags, const Filter& filter,
               const TupleFilter& tuple) {
    nlattr* outer = mnl_attr_nest_start(&request, type);
    nlattr* addresses = mnl_attr_nest_start(&request, CTA_TUPLE_IP);
    put_address(request, CTA_IP_V4_SRC, exact_ipv4(tuple.source));
    put_address(request, CTA_IP_V4_DST, exact_ipv4(tuple.destination));
    mnl_attr_nest_end(&request, addresses);
    nlattr* protocol = mnl_attr_nest_start(&request, CTA_TUPLE_PROTO);
    if (flags & kProtocol) {
        mnl_attr_put_u8(&request, CTA_PROTO_NUM, *filter.protocol);
    }
    if (flags & kSourcePort) {
        mnl_attr_put_u16(&request, CTA_PROTO_SRC_PORT, htons(*tuple.source_port));
    }
    if (flags & kDestinationPort) {
        mnl_attr_put_u16(&request, CTA_PROTO_DST_PORT, htons(*tuple.destination_port));
    }
    mnl_attr_nest_end(&request, protocol);
    mnl_attr_nest_end(&request, outer);
}

void add_tuple_filter(nlmsghdr& request, const Filter& filter) {
    // ctnetlink_parse_tuple_filter refuses tuples without a family.
    if (kernel_family(filter) == AF_UNSPEC) {
        return;
    }
    const std::uint32_t original = tuple_flags(filter, filter.original);
    const std::uint32_t reply = tuple_flags(filter, filter.reply);
    if (original == 0 && reply == 0) {
        return;
    }
    nlattr* flags = mnl_attr_nest_start(&request, CTA_FILTER);
    mnl_attr_put_u32(&request, CTA_FILTER_ORIG_FLAGS, original);
    mnl_attr_put_u32(&request, CTA_FILTER_REPLY_FLAGS, reply);
    mnl_attr_nest_end(&request, flags);
    if (original != 0) {
        put_tuple(request, CTA_TUPLE_ORIG, original, filter, filter.original);
    }
    if (reply != 0) {
        put_tuple(request, CTA_TUPLE_REPLY, reply, filter, filter.reply);
    }
}

std::uint32_t host_order_mask(std::uint8_t prefix_bits) {
    return prefix_bits == 0 ? 0 : ~std::uint32_t{0} << (32 - prefix_bits);
}

void add_range(nfct_filter* bpf, nfct_filter_attr attribute,
               const std::optional<AddressRange>& range) {
    if (!range || range->address.family != frame::Family::kIpv4) {
        return;
    }
    const std::uint32_t mask = host_order_mask(range->prefix_bits);
    const nfct_filter_ipv4 wanted{range->address.v4_host_order() & mask, mask};
    nfct_filter_add_attr(bpf, attribute, &wanted);
}

bool is_ipv4(const std::optional<AddressRange>& range) {
    return range && range->address.family == frame::Family::kIpv4;
}

}  // namespace

std::uint8_t kernel_family(const Filter& filter) {
    const auto number = [](frame::Family family) -> std::uint8_t {
        return family == frame::Family::kIpv4 ? AF_INET : AF_INET6;
    };
    if (filter.family) {
        return number(*filter.family);
    }
    for (const auto* range :
         {&filter.original.source, &filter.original.destination, &filter.reply.source,
          &filter.reply.destination, &filter.any_address}) {
        if (*range) {
            return number((*range)->address.family);
        }
    }
    return AF_UNSPEC;
}

void add_dump_filter(nlmsghdr& request, const Filter& filter) {
    if (filter.mark) {
        mnl_attr_put_u32(&request, CTA_MARK, htonl(filter.mark->value));
        mnl_attr_put_u32(&request, CTA_MARK_MASK, htonl(filter.mark->mask));
    }
    if (const std::uint32_t mask = filter.status_set | filter.status_clear; mask != 0) {
        mnl_attr_put_u32(&request, CTA_STATUS, htonl(filter.status_set));
        mnl_attr_put_u32(&request, CTA_STATUS_MASK, htonl(mask));
    }
    if (filter.zone) {
        mnl_attr_put_u16(&request, CTA_ZONE, htons(*filter.zone));
    }
    add_tuple_filter(request, filter);
}

Status attach_event_filter(int socket, const Filter& filter) {
    if (!filter.protocol && !is_ipv4(filter.original.source) &&
        !is_ipv4(filter.original.destination)) {
        return {};
    }
    const std::unique_ptr<nfct_filter, void (*)(nfct_filter*)> bpf(nfct_filter_create(),
                                                                   nfct_filter_destroy);
    if (!bpf) {
        return fail(ErrorCode::kFailed, "event filter: {}", std::strerror(ENOMEM));
    }
    if (filter.protocol) {
        nfct_filter_add_attr_u32(bpf.get(), NFCT_FILTER_L4PROTO, *filter.protocol);
    }
    add_range(bpf.get(), NFCT_FILTER_SRC_IPV4, filter.original.source);
    add_range(bpf.get(), NFCT_FILTER_DST_IPV4, filter.original.destination);
    if (nfct_filter_attach(socket, bpf.get()) != 0) {
        return fail(ErrorCode::kFailed, "attach the event filter to the netlink socket: {}",
                    std::strerror(errno));
    }
    return {};
}

}  // namespace pathproof::netfilter
