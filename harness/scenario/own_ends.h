// Ends of a run's own packets on the host of its agent, by place and cause, as told by the packets
// themselves: the one rule by which scenarios give a loss its cause. Counters of a host corroborate it, and
// never suffice.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/fate/summary.h"

namespace pathproof::scenario {

struct OwnEnds {
    struct Kind {
        std::string cause;  // fate::End::cause
        std::string text;   // "dropped by tc at egress, device d1"
        std::uint64_t packets = 0;
        std::string hook{};   // of netfilter; else empty
        std::string netns{};  // where it was
        bool operator==(const Kind&) const = default;
    };
    std::vector<Kind> dropped;  // most packets first
    // Reason why the ends are not known, so that counters must give the cause. Empty: they are
    // known.
    std::string not_followed = "packets were not followed";

    bool by_packet() const { return not_followed.empty(); }
    std::uint64_t all() const;
    std::uint64_t by(std::string_view cause) const;
};

// Packets of one direction that the agent's own namespace dropped, or still held on a queue ("held"), those
// aside that a device never took in (XDP).
OwnEnds own_ends(const Result<fate::Fates>& fates, fate::Direction direction);
// Packets of both directions in all of these namespaces, with XDP's.
OwnEnds own_ends_in(const Result<fate::Fates>& fates, const std::vector<std::string>& namespaces);
// Returns whether netfilter dropped it by a rule, a policy, or a verdict that cannot be told from
// these.
bool is_by_rule(const OwnEnds::Kind& kind);

// State of the link over the run; kWasDown: a device on the packets' way had no link for a time.
enum class Link { kWasUp, kWasDown };
// "rule-drop+tc-egress", of those that dropped any. Packets that found no way out are "link-down" where a
// device of their way was so.
std::string causes(const OwnEnds& ends, Link link = Link::kWasUp);
// "7 dropped by tc at egress, device d1, 2 dropped ...".
std::string in_words(const OwnEnds& ends);

}  // namespace pathproof::scenario
