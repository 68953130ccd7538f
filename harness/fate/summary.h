// The ends of the packets of a flow: plain values, one end a packet.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"
#include "harness/message/fields.h"

namespace pathproof::fate {

enum class Ending {
    kDelivered,    // a socket of this machine, or the kernel itself, took it
    kSent,         // it left by a device
    kDropped,      // the kernel let go of it: End::cause
    kMerged,       // GRO put it into the packet before
    kCut,          // into segments or fragments, each of which has an end of its own
    kReassembled,  // a fragment that went into a whole packet
    kConsumed,     // taken by something else: End::place
    kHeld,         // nowhere yet when the watch ended: on a queue
    kUnseen,       // its end was not seen
};
ENUM_VALUES(Ending, 9)
const char* name(Ending ending);  // "delivered", ...

// The place and the cause of a packet's end.
struct End {
    Ending ending = Ending::kUnseen;
    // A word that scripts read, for kDropped: "rule", "insert-failed", "table-full", "tc-egress", ...
    std::string cause;
    // In words: "by a rule or policy in hook forward".
    std::string text;
    std::string hook;    // of netfilter: "prerouting", "ingress", ...; else empty
    std::string reason;  // the kernel's word, of kDropped: "NETFILTER_DROP"
    std::string place;   // the kernel function: "nf_hook_slow"
    std::string device;
    std::string netns;  // its name, or its inode
    auto operator<=>(const End&) const = default;
};
FIELDS(End, ending, cause, text, hook, reason, place, device, netns)

enum class Direction { kThere, kBack, kError };  // kError: an ICMP error that quotes the flow
ENUM_VALUES(Direction, 3)
const char* name(Direction direction);  // "there", "back", "error"

struct EndCount {
    Direction direction = Direction::kThere;
    End end;
    std::uint64_t packets = 0;
    std::vector<std::string> way;  // of the first of them: "taken in by d0 of dut", ...
    bool operator==(const EndCount&) const = default;
};
FIELDS(EndCount, direction, end, packets, way)

struct Packet {
    std::int64_t begin_ns = 0;  // CLOCK_REALTIME
    std::int64_t end_ns = 0;
    std::uint8_t protocol = 0;
    Direction direction = Direction::kThere;
    // As it was when first seen, and when last.
    frame::Endpoint source, destination;
    frame::Endpoint last_source, last_destination;
    std::uint64_t payload = 0;  // the first eight bytes of UDP's, as they lie in the packet
    std::uint32_t sequence = 0;
    std::uint8_t tcp_flags = 0;
    bool made_here = false;       // this machine's own, and not taken in from a device
    bool clash_resolved = false;  // conntrack resolved a clash of it
    std::string first_netns;      // where it was first seen
    std::string first_device;
    std::uint32_t end = 0;  // in `ends`
    bool operator==(const Packet&) const = default;
};
PACKED_FIELDS(Packet, begin_ns, end_ns, protocol, direction, source, destination, last_source,
              last_destination, payload, sequence, tcp_flags, made_here, clash_resolved,
              first_netns, first_device, end)

struct Fates {
    // Reason why no packet was followed; else empty.
    std::string not_followed;
    double seconds = 0;
    std::string netns;  // of the process that followed them, as End::netns names it
    std::uint64_t packets = 0;
    // Packets that could not be followed: the table of them was full, or their record found no room.
    std::uint64_t lost = 0;
    // Records beyond the bound: they are in `ends` and not in `each`.
    std::uint64_t not_kept = 0;
    std::vector<std::string> cannot_tell;  // what this kernel does not let be told
    std::vector<EndCount> ends;            // most packets first
    std::vector<Packet> each;              // in the order of their ends

    bool followed() const { return not_followed.empty(); }
    bool whole() const { return followed() && lost == 0; }
};
FIELDS(Fates, not_followed, seconds, netns, packets, lost, not_kept, cannot_tell, ends, each)

// Returns why the fates do not cover every packet; empty: they do.
inline std::string why_not_told(const Result<Fates>& fates) {
    if (!fates) {
        return fates.error().message;
    }
    return fates->lost == 0 || !fates->followed()
               ? fates->not_followed
               : std::to_string(fates->lost) + " packets could not be followed";
}

// Returns whether a cause is netfilter's: a rule, a policy, or a verdict that is not told apart
// from these.
constexpr bool is_by_netfilter(std::string_view cause) {
    return cause == "rule" || cause == "reject" || cause == "netfilter";
}

// The words behind a sentence whose cause counters tell.
inline constexpr const char* kByCounters = "by counters, not by packet";

// Packets of a direction with this cause.
std::uint64_t dropped(const Fates& fates, Direction direction, const std::string& cause);

}  // namespace pathproof::fate
