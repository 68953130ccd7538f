// Counts of the kernel's drops, as plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/message/fields.h"

namespace pathproof::drops {

// Packets that were counted.
enum class Scope {
    kNamespace,  // those of the namespace asked for: each packet told its namespace
    kMachine,    // those of all namespaces of this machine
};
ENUM_VALUES(Scope, 2)

// State of a packet's flow in conntrack. Told for NETFILTER_DROP, where each packet is looked at.
enum class FlowState {
    kUntold,
    kNone,        // no entry: untracked, invalid, or refused because the table was full
    kNew,         // the flow's first packet: its entry was not in the table yet
    kNewPastNat,  // the same, past source NAT: only confirmation comes after that
    kKnown,       // a flow of the table
};
ENUM_VALUES(FlowState, 5)
const char* name(FlowState state);  // "", "no entry", "new", "new past NAT", "known"

// One kind of drop and how many packets met it.
struct DropCount {
    // As the kernel prints it ("NETFILTER_DROP"), or "reason 200" for one that it does not name.
    std::string reason;
    // The kernel function that let go of the packet ("nf_hook_slow+0xa7"), or an address.
    std::string location;
    // "ip/udp", "ip6/tcp", "ip" where the layer above is not known, "arp", "ethertype 0x88cc".
    std::string protocol;
    FlowState flow = FlowState::kUntold;
    std::uint64_t packets = 0;
    bool operator==(const DropCount&) const = default;
};
FIELDS(DropCount, reason, location, protocol, flow, packets)

// A single drop.
struct Drop {
    std::int64_t time_ns = 0;  // CLOCK_REALTIME
    std::string reason;
    std::string location;
    std::string protocol;
};

struct DropSummary {
    Scope scope = Scope::kMachine;
    // Reason why it is the machine although a namespace was asked for; else empty.
    std::string scope_reason;
    double seconds = 0;  // since the start

    // Drops for a reason: the sum of `counts` and `other_kinds`.
    std::uint64_t drops = 0;
    // Frees that give no reason (NOT_SPECIFIED): many of them are no loss, so they are not counted
    // as drops.
    std::uint64_t unspecified = 0;
    // Drops for a reason whose packet told no namespace; part of no other figure here.
    std::uint64_t nowhere = 0;
    // Events that the kernel could not hand over because we were too slow: counts are lower bounds.
    std::uint64_t lost = 0;
    // Kinds of drop beyond the bound on `counts`: how many packets met them.
    std::uint64_t other_kinds = 0;

    std::vector<DropCount> counts;  // most packets first
    std::vector<Drop> last;         // the last few, newest first
};
// Not the last few drops one by one.
FIELDS(DropSummary, scope, scope_reason, lost, counts)

// Drops added up by reason, most packets first; the other members that tell kinds apart are empty.
std::vector<DropCount> by_reason(const std::vector<DropCount>& counts);

// The counts of `after` less those of `before`, most packets first; kinds that did not grow are
// left out.
std::vector<DropCount> growth(const std::vector<DropCount>& before,
                              const std::vector<DropCount>& after);

}  // namespace pathproof::drops
