// What the kernel dropped, counted: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pathproof::drops {

// Whose packets were counted.
enum class Scope {
    kNamespace,  // those of the namespace asked for: each packet told its namespace
    kMachine,    // those of all namespaces of this machine
};

// One kind of drop and how many packets met it.
struct DropCount {
    // As the kernel prints it ("NETFILTER_DROP"), or "reason 200" for one that it does not name.
    std::string reason;
    // The kernel function that let go of the packet ("nf_hook_slow+0xa7"), or an address.
    std::string location;
    // "ip/udp", "ip6/tcp", "ip" where the layer above is not known, "arp", "ethertype 0x88cc".
    std::string protocol;
    std::uint64_t packets = 0;
    bool operator==(const DropCount&) const = default;
};

// A single drop.
struct Drop {
    std::int64_t time_ns = 0;  // CLOCK_REALTIME
    std::string reason;
    std::string location;
    std::string protocol;
};

// How far conntrack had come with the packets of reason NETFILTER_DROP. Told only where `Scope` can
// be kNamespace; else all of them are in `untold`.
struct NetfilterDrops {
    std::uint64_t total = 0;
    std::uint64_t without_entry = 0;  // untracked, invalid, or refused because the table was full
    // New flows whose entry was not in the table yet: dropped by a rule on the way or at
    // confirmation.
    std::uint64_t unconfirmed = 0;
    // Of these, past source NAT: only confirmation comes after (__nf_conntrack_confirm).
    std::uint64_t unconfirmed_past_nat = 0;
    std::uint64_t confirmed = 0;  // packets of flows in the table: dropped by a rule
    std::uint64_t untold = 0;
};

struct DropSummary {
    Scope scope = Scope::kMachine;
    // Why it is the machine although a namespace was asked for; else empty.
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
    NetfilterDrops netfilter;
};

// Drops added up over locations and protocols, most packets first; `location` and `protocol` are
// empty.
std::vector<DropCount> by_reason(const std::vector<DropCount>& counts);

}  // namespace pathproof::drops
