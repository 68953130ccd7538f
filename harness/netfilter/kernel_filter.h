// The part of a filter that the kernel can apply by itself. It only spares work: every entry and
// event that passes is checked against the whole filter afterwards.
#pragma once

#include "harness/netfilter/filter.h"

struct nlmsghdr;

namespace pathproof::netfilter {

// The address family that a filter asks for or implies, as AF_INET, AF_INET6 or AF_UNSPEC.
std::uint8_t kernel_family(const Filter& filter);

// Adds mark, status, zone and CTA_FILTER tuple attributes to a dump request
// (ctnetlink_alloc_filter). Kernels that do not know an attribute ignore it or refuse the request.
void add_dump_filter(nlmsghdr& request, const Filter& filter);

// Attaches a socket filter (BPF, by libnetfilter_conntrack) for protocol and original IPv4
// addresses; does nothing when the filter has neither.
Status attach_event_filter(int socket, const Filter& filter);

}  // namespace pathproof::netfilter
