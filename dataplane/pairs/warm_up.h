// A frame that goes a query's way through the DUT as far as conntrack and NAT, and is dropped
// there.
//
// What a kernel does with a frame takes 5 us when code and data are in the caches and up to 25 us
// when another program had the CPU before; two queries that leave at one instant then do not meet.
// The warm-up frame is a UDP datagram to the service from 255.255.255.255: ip_route_input_slow()
// drops it as a martian source after the PREROUTING hooks, so no conntrack entry is confirmed, no
// event is sent, no ICMP error comes back and no SNMP or conntrack counter counts it. Visible are:
// received packets of the device, hits of the DNAT rules, and in_martian_src of
// /proc/net/stat/rt_cache.
#pragma once

#include <optional>

#include "dataplane/base/result.h"
#include "dataplane/frame/template.h"
#include "dataplane/pairs/pair_plan.h"

namespace pathproof::pairs {

// The warm-up frame of one member, if the plan wants one. Nothing for IPv6, where the kernel drops
// such a source before conntrack (ip6_rcv_core).
Result<std::optional<frame::FrameTemplate>> warm_up_frame(const PairPlan& plan, std::size_t member);

}  // namespace pathproof::pairs
