#include "harness/netfilter/kernel_filter.h"

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <libnetfilter_conntrack/libnetfilter_conntrack.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "dataplane/base/owned.h"
#include "harness/netfilter/tuple_message.h"

namespace pathproof::netfilter {
namespace {

// Only a whole address: ctnetlink_filter_match_tuple knows no prefixes.
const frame::IpAddress* whole_address(const std::optional<AddressRange>& range,
                                      const KernelFilterSupport& support) {
    if (!range || range->prefix_bits != range->address.size() * 8) {
        return nullptr;
    }
    const bool ipv4 = range->address.family == frame::Family::kIpv4;
    const Clause clause = ipv4 ? Clause::kIpv4Address : Clause::kIpv6Address;
    return support.use(clause) ? &range->address : nullptr;
}

std::uint32_t icmp_parts(std::uint8_t protocol, const TupleFilter& tuple) {
    const bool v6 = protocol == IPPROTO_ICMPV6;
    std::uint32_t parts = 0;
    if (tuple.icmp_type) {
        parts |= v6 ? part::kIcmpv6Type : part::kIcmpType;
    }
    if (tuple.icmp_code) {
        parts |= v6 ? part::kIcmpv6Code : part::kIcmpCode;
    }
    if (tuple.icmp_id) {
        parts |= v6 ? part::kIcmpv6Id : part::kIcmpId;
    }
    return parts;
}

std::uint32_t port_parts(const TupleFilter& tuple) {
    return (tuple.source_port ? part::kSourcePort : 0) |
           (tuple.destination_port ? part::kDestinationPort : 0);
}

// The protocol in the request decides which parts of a tuple the kernel compares.
std::uint32_t protocol_parts(std::uint8_t protocol, const TupleFilter& tuple,
                             const KernelFilterSupport& support) {
    switch (protocol) {
        case IPPROTO_TCP:
        case IPPROTO_UDP: return support.use(Clause::kPorts) ? port_parts(tuple) : 0;
        case IPPROTO_ICMP: return support.use(Clause::kIcmp) ? icmp_parts(protocol, tuple) : 0;
        case IPPROTO_ICMPV6: return support.use(Clause::kIcmpv6) ? icmp_parts(protocol, tuple) : 0;
        default: return 0;
    }
}

Tuple wanted_tuple(const Filter& filter, const TupleFilter& tuple) {
    const auto address = [](const std::optional<AddressRange>& range) {
        return range ? range->address : frame::IpAddress{};
    };
    return {.source = {address(tuple.source), tuple.source_port.value_or(0)},
            .destination = {address(tuple.destination), tuple.destination_port.value_or(0)},
            .protocol = filter.protocol.value_or(0),
            .icmp = Tuple::Icmp{tuple.icmp_type.value_or(0), tuple.icmp_code.value_or(0),
                                tuple.icmp_id.value_or(0)}};
}

void add_tuple_filter(nlmsghdr& request, const Filter& filter, const KernelFilterSupport& support) {
    const std::uint32_t original = tuple_parts(filter, filter.original, support);
    const std::uint32_t reply = tuple_parts(filter, filter.reply, support);
    if (original == 0 && reply == 0) {
        return;
    }
    nlattr* flags = mnl_attr_nest_start(&request, CTA_FILTER);
    mnl_attr_put_u32(&request, CTA_FILTER_ORIG_FLAGS, original);
    mnl_attr_put_u32(&request, CTA_FILTER_REPLY_FLAGS, reply);
    mnl_attr_nest_end(&request, flags);
    if (original != 0) {
        put_tuple(request, CTA_TUPLE_ORIG, wanted_tuple(filter, filter.original), original);
    }
    if (reply != 0) {
        put_tuple(request, CTA_TUPLE_REPLY, wanted_tuple(filter, filter.reply), reply);
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

// ctnetlink_parse_tuple_filter refuses tuples without a family, and anything of the protocol
// without its number.
std::uint32_t tuple_parts(const Filter& filter, const TupleFilter& tuple,
                          const KernelFilterSupport& support) {
    if (kernel_family(filter) == AF_UNSPEC) {
        return 0;
    }
    std::uint32_t parts = 0;
    parts |= whole_address(tuple.source, support) ? part::kSourceAddress : 0;
    parts |= whole_address(tuple.destination, support) ? part::kDestinationAddress : 0;
    if (!filter.protocol || !support.use(Clause::kProtocol)) {
        return parts;
    }
    return parts | part::kProtocol | protocol_parts(*filter.protocol, tuple, support);
}

std::uint8_t kernel_family(const Filter& filter) {
    if (filter.family) {
        return kernel_family(*filter.family);
    }
    for (const auto* range :
         {&filter.original.source, &filter.original.destination, &filter.reply.source,
          &filter.reply.destination, &filter.any_address}) {
        if (*range) {
            return kernel_family((*range)->address.family);
        }
    }
    return AF_UNSPEC;
}

Clauses clauses_of(const Filter& filter) {
    const KernelFilterSupport all(Behaviour::kSelects);
    Clauses clauses;
    const auto note = [&](Clause clause, bool wanted) {
        clauses.set(static_cast<std::size_t>(clause), wanted);
    };
    const std::uint32_t parts =
        tuple_parts(filter, filter.original, all) | tuple_parts(filter, filter.reply, all);
    const bool ipv4 = kernel_family(filter) == AF_INET;
    note(Clause::kMark, filter.mark.has_value());
    note(Clause::kStatus, (filter.status_set | filter.status_clear) != 0);
    note(Clause::kZone, filter.zone.has_value());
    note(Clause::kIpv4Address, ipv4 && (parts & part::kAddresses) != 0);
    note(Clause::kIpv6Address, !ipv4 && (parts & part::kAddresses) != 0);
    note(Clause::kProtocol, (parts & part::kProtocol) != 0);
    note(Clause::kPorts, (parts & part::kPorts) != 0);
    note(Clause::kIcmp, (parts & part::kIcmp) != 0);
    note(Clause::kIcmpv6, (parts & part::kIcmpv6) != 0);
    return clauses;
}

void add_dump_filter(nlmsghdr& request, const Filter& filter, const KernelFilterSupport& support) {
    if (filter.mark && support.use(Clause::kMark)) {
        mnl_attr_put_u32(&request, CTA_MARK, htonl(filter.mark->value));
        mnl_attr_put_u32(&request, CTA_MARK_MASK, htonl(filter.mark->mask));
    }
    const std::uint32_t mask = filter.status_set | filter.status_clear;
    if (mask != 0 && support.use(Clause::kStatus)) {
        mnl_attr_put_u32(&request, CTA_STATUS, htonl(filter.status_set));
        mnl_attr_put_u32(&request, CTA_STATUS_MASK, htonl(mask));
    }
    if (filter.zone && support.use(Clause::kZone)) {
        mnl_attr_put_u16(&request, CTA_ZONE, htons(*filter.zone));
    }
    add_tuple_filter(request, filter, support);
}

Status attach_event_filter(int socket, const Filter& filter) {
    if (!filter.protocol && !is_ipv4(filter.original.source) &&
        !is_ipv4(filter.original.destination)) {
        return {};
    }
    const Owned<nfct_filter, nfct_filter_destroy> bpf(nfct_filter_create());
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
