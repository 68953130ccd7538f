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

// Properties that a dump request can ask the kernel to select by, besides the address family, which
// all kernels support.
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

// Behaviour of a kernel that is asked to select by a clause.
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
    // Returns whether to ask the kernel to select by this clause. An untried clause is used unless
    // some known kernel leaves out entries that match it.
    bool use(Clause clause) const;
};

// Split of a filter between the kernel and this process: words as parse_filter() reads them.
struct FilterShares {
    std::vector<std::string> kernel;
    std::vector<std::string> here;
};
FilterShares filter_shares(const Filter& filter, const KernelFilterSupport& support);

// Clauses of the filter that the kernel could be asked for, besides the family, as a bit set.
using Clauses = std::bitset<kClauses>;
Clauses clauses_of(const Filter& filter);

// The address family that a filter asks for or implies, as AF_INET, AF_INET6 or AF_UNSPEC.
std::uint8_t kernel_family(const Filter& filter);

// Parts of a tuple that the kernel is asked to select by, as `part`s of tuple_message.h.
std::uint32_t tuple_parts(const Filter& filter, const TupleFilter& tuple,
                          const KernelFilterSupport& support);

// Adds mark, status, zone and CTA_FILTER tuple attributes to a dump request
// (ctnetlink_alloc_filter), as far as the kernel is to be asked for them.
void add_dump_filter(nlmsghdr& request, const Filter& filter, const KernelFilterSupport& support);

// Attaches a socket filter (BPF, by libnetfilter_conntrack) for protocol and original IPv4
// addresses; does nothing when the filter has neither.
Status attach_event_filter(int socket, const Filter& filter);

}  // namespace pathproof::netfilter
