// The part of a filter that the kernel can apply by itself. It only spares work: every entry and
// event that passes is checked against the whole filter afterwards.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/netfilter/filter.h"

struct nlmsghdr;

namespace pathproof::netfilter {

// What a dump request can ask the kernel to select by, besides the address family, which all
// kernels know.
enum class Clause : std::uint8_t {
    kMark,         // CTA_MARK, CTA_MARK_MASK
    kStatus,       // CTA_STATUS, CTA_STATUS_MASK
    kZone,         // CTA_ZONE (6.8)
    kIpv4Address,  // CTA_FILTER (5.8) and what follows
    kIpv6Address,
    kProtocol,
    kPorts,
    kIcmp,
    kIcmpv6,
};
inline constexpr std::size_t kClauses = 9;
const char* name(Clause clause);

// How a kernel behaves when it is asked to select by a clause.
enum class Behaviour : std::uint8_t {
    kSelects,
    kIgnores,   // gives entries that do not match as well: harmless
    kRefuses,   // answers with an error
    kInverts,   // leaves out entries that match: IPv6 addresses before commit 1ae2d094b020
    kNotTried,  // there was no place to try it in
};
const char* name(Behaviour behaviour);

struct KernelFilterSupport {
    explicit KernelFilterSupport(Behaviour of_each) { behaviour.fill(of_each); }

    std::array<Behaviour, kClauses> behaviour;

    Behaviour of(Clause clause) const { return behaviour[static_cast<std::size_t>(clause)]; }
    Behaviour& of(Clause clause) { return behaviour[static_cast<std::size_t>(clause)]; }
    // Whether to ask the kernel for it. What was not tried is asked for unless a kernel is known
    // that leaves out what it should give.
    bool use(Clause clause) const;
};

// Who selects by what: words as parse_filter() reads them.
struct FilterShares {
    std::vector<std::string> kernel;
    std::vector<std::string> here;
};
FilterShares filter_shares(const Filter& filter, const KernelFilterSupport& support);

// What of the filter could be asked of the kernel besides the family, by the numbers of the
// clauses.
using Clauses = std::bitset<kClauses>;
Clauses clauses_of(const Filter& filter);

// The address family that a filter asks for or implies, as AF_INET, AF_INET6 or AF_UNSPEC.
std::uint8_t kernel_family(const Filter& filter);

// What of a tuple the kernel is asked to select by, as `part`s of tuple_message.h.
std::uint32_t tuple_parts(const Filter& filter, const TupleFilter& tuple,
                          const KernelFilterSupport& support);

// Adds mark, status, zone and CTA_FILTER tuple attributes to a dump request
// (ctnetlink_alloc_filter), as far as the kernel is to be asked for them.
void add_dump_filter(nlmsghdr& request, const Filter& filter, const KernelFilterSupport& support);

// Attaches a socket filter (BPF, by libnetfilter_conntrack) for protocol and original IPv4
// addresses; does nothing when the filter has neither.
Status attach_event_filter(int socket, const Filter& filter);

}  // namespace pathproof::netfilter
