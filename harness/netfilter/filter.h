// Selection of the conntrack entries that a reader wants.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"
#include "harness/netfilter/entry.h"

namespace pathproof::netfilter {

struct AddressRange {
    frame::IpAddress address;
    std::uint8_t prefix_bits = 32;
    bool contains(const frame::IpAddress& other) const;
    bool operator==(const AddressRange&) const = default;
};

struct TupleFilter {
    std::optional<AddressRange> source;
    std::optional<AddressRange> destination;
    std::optional<std::uint16_t> source_port;
    std::optional<std::uint16_t> destination_port;
    std::optional<std::uint8_t> icmp_type;
    std::optional<std::uint8_t> icmp_code;
    std::optional<std::uint16_t> icmp_id;
    std::optional<std::uint16_t> zone;  // a zone that holds for this direction
    bool operator==(const TupleFilter&) const = default;
};

struct MarkFilter {
    std::uint32_t value = 0;
    std::uint32_t mask = 0xffffffff;
    bool operator==(const MarkFilter&) const = default;
};

// Entries whose source or destination is translated, to an address of the range when there is one.
struct NatFilter {
    enum class Kind { kSource, kDestination, kAny } kind = Kind::kAny;
    std::optional<AddressRange> to;
    bool operator==(const NatFilter&) const = default;
};

// All set fields must match; a default Filter matches every entry.
struct Filter {
    std::optional<frame::Family> family;
    std::optional<std::uint8_t> protocol;  // IPPROTO_*
    TupleFilter original;
    TupleFilter reply;
    std::optional<AddressRange> any_address;  // one of the four addresses of the entry
    std::optional<std::uint16_t> any_port;    // one of its four ports
    std::optional<std::uint16_t> zone;        // in either direction
    std::optional<MarkFilter> mark;
    std::uint32_t status_set = 0;    // bits that must be set
    std::uint32_t status_clear = 0;  // bits that must not be set
    std::optional<NatFilter> nat;
    std::optional<std::uint32_t> id;  // CTA_ID
    std::string state;                // of the protocol: "ESTABLISHED"; empty: any
    std::string helper;               // its name; empty: any
    std::vector<unsigned> labels;     // bits that must all be set
    std::string security_context;     // empty: any
    bool operator==(const Filter&) const = default;
};

bool matches(const Filter& filter, const Entry& entry);

// The filter without what can change about a flow: mark and status. A flow that matches this part
// once matches it for ever.
Filter stable_part(const Filter& filter);

// Reads words such as "udp", "dport=53", "src=198.18.0.0/15", "reply-src=10.1.0.2",
// "mark=0x10/0xff", "status=seen_reply,!assured". An error names the word and says which are
// allowed.
Result<Filter> parse_filter(const std::vector<std::string>& words);

// One line for each kind of word, for --help.
std::string filter_help();

}  // namespace pathproof::netfilter
