// Drops of a run's own queries and answers, as the packets themselves told them. A packet is known by its
// addresses and ports: what it carries may lie in pages, where the kernel's programs do not read it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"
#include "harness/fate/summary.h"

namespace pathproof::join {

struct OwnDrop {
    std::string cause;  // fate::End::cause
    std::string text;   // "by tc at egress, device d1"
    std::string hook;   // of netfilter; else empty
    // As a summary of drops counts it: "NETFILTER_DROP at nf_hook_slow".
    std::string counted_as;
    bool operator==(const OwnDrop&) const = default;
};

struct OwnDrops {
    using ByClient = std::multimap<frame::Endpoint, OwnDrop>;
    // By the client's end of the flow as the packet had it when it was dropped: behind source NAT another
    // than it left with, before conntrack without a port where only the IP header could be read.
    ByClient queries;
    ByClient answers;
    // Reason why they are not known: a loss gets its cause from counters then. Empty: they are.
    std::string not_followed = "packets were not followed";

    bool by_packet() const { return not_followed.empty(); }
};

// Takes the packets that ended in the namespace of the process that followed them.
OwnDrops own_drops(const Result<fate::Fates>& fates);

}  // namespace pathproof::join
