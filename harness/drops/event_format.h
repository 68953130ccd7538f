// Reading what a kernel says of its tracepoint of drops: the file "format" that tracefs has of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "dataplane/base/result.h"

namespace pathproof::drops {

// Layout of the fields of skb:kfree_skb that are counted, and the names of its reasons.
struct DropEvent {
    std::uint64_t id = 0;             // what perf_event_open(2) calls the tracepoint
    std::size_t packet_offset = 0;    // 8 bytes: struct sk_buff *
    std::size_t location_offset = 0;  // 8 bytes: the code address
    std::size_t protocol_offset = 0;  // 2 bytes: the ethertype in host order
    std::size_t reason_offset = 0;    // 4 bytes: enum skb_drop_reason
    std::size_t end = 0;              // one beyond the last byte of these
    std::map<std::uint32_t, std::string> reasons;
    std::uint32_t not_specified = 0;  // the lowest reason; what lies below it is no drop

    // "NETFILTER_DROP", or "reason 200" for a value without a name: other parts of the kernel have
    // reasons of their own above 65535 (enum skb_drop_reason_subsys).
    std::string reason_name(std::uint32_t reason) const;
};

// Reads the format file of skb:kfree_skb (trace_events.c, f_show). kKernelLacks where it is none,
// and, with the kernel version that is needed, for an event without reasons.
Result<DropEvent> parse_drop_event(const std::string& text);

}  // namespace pathproof::drops
