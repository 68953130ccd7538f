// Reading a tracepoint's own description, the file "format" that tracefs shows for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/base/result.h"

namespace pathproof::drops {

struct EventField {
    std::string name;  // "location"
    std::size_t offset = 0;
    std::size_t size = 0;
    bool operator==(const EventField&) const = default;
};

struct EventFormat {
    std::string name;      // "kfree_skb"
    std::uint64_t id = 0;  // what perf_event_open(2) calls the tracepoint
    std::vector<EventField> fields;
    // Of fields that are printed as words (__print_symbolic()): {12, "NETFILTER_DROP"}.
    std::map<std::string, std::map<std::uint32_t, std::string>> words;

    const EventField* find(std::string_view field) const;
    std::map<std::uint32_t, std::string> words_of(const std::string& field) const;
};

// Reads a format file (trace_events.c, f_show). kKernelLacks when it is none.
Result<EventFormat> parse_event_format(const std::string& text);

// Where skb:kfree_skb keeps what is counted, and the names of its reasons.
struct DropEvent {
    std::uint64_t id = 0;
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

// kKernelLacks, with the kernel version that is needed, for an event without reasons.
Result<DropEvent> drop_event(const EventFormat& format);

}  // namespace pathproof::drops
