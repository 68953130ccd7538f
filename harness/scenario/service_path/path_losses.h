// Packets that went into the DUT of the NAT path and did not come out of it: how many, and what else
// than a scenario's own failure is known of them.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/agent/path_events.h"
#include "harness/scenario/nat_path_hosts.h"
#include "harness/scenario/own_ends.h"

namespace pathproof::scenario {

struct PathLosses {
    std::uint64_t in = 0;   // packets of the client that the DUT got
    std::uint64_t out = 0;  // of them those that the server got
    // conntrack's counters on the DUT. `drop` has those of insert_failed too.
    std::uint64_t drop = 0;
    std::uint64_t insert_failed = 0;
    std::uint64_t early_drop = 0;
    std::uint64_t netfilter_drops = 0;  // packets that the kernel says netfilter dropped
    std::vector<std::string> outages;   // devices of the DUT that had no link for a time
    OwnEnds ends;                       // of these packets, in the DUT

    std::uint64_t lost() const { return in > out ? in - out : 0; }
    // Dropped by conntrack for want of an entry, and refused when their entry was inserted: these packets
    // themselves where they were followed, else by its counters.
    std::uint64_t refused_at_insertion() const {
        return ends.by_packet() ? ends.by("insert-failed") : insert_failed;
    }
    std::uint64_t for_want_of_entry() const {
        if (ends.by_packet()) {
            return ends.by("table-full");
        }
        return drop > insert_failed ? drop - insert_failed : 0;
    }
    std::uint64_t by_rules() const { return netfilter_drops > drop ? netfilter_drops - drop : 0; }
};

// Adds what the kernel told of drops and links.
void take(const agent::PathEvents& seen, PathLosses& losses);

struct WatchedPath {
    PathLosses losses;
    std::set<std::uint16_t> sources;  // ports of the client whose datagrams the server got
};
// Watches the DUT and the server while `send` sends to that port of the server (UDP), and to the one
// after it (TCP).
Result<WatchedPath> watch_path(NatPathHosts& hosts, std::uint16_t port,
                               const std::function<Status()>& send);

// A cause and a clause for packets that a scenario's own failure does not explain. Where they were followed
// the cause is that of their own ends (several with + between), and "lost" where some have none. Else it is
// "link-down", "rule-drop", "insert-failed", "table-full" or "lost" by the DUT's counters, and the clause
// says so.
struct OtherCause {
    std::string cause;
    std::string clause;
};
OtherCause other_cause(const PathLosses& losses);

}  // namespace pathproof::scenario
