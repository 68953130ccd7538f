// nodelocal: the race of A and AAAA inside conntrack, with NodeLocal DNSCache on the node and without
// it. Measuring and concluding are apart: nodelocal.cc runs cells, nodelocal_conclude.cc makes
// verdicts of plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/scenario/concluded.h"
#include "harness/scenario/model/figure.h"

namespace pathproof::scenario {

// Rules that NodeLocal DNSCache has on a node, in its own words (kubernetes/dns, cmd/node-cache):
// for its address and for the service's, for UDP and TCP.
struct NodeCacheRules {
    bool notrack = true;  // raw: queries and answers are not tracked
    bool accept = true;   // filter: and accepted
    // The node's INPUT policy is DROP, and it accepts what conntrack knows alone.
    bool input_by_state = false;
};

struct NodelocalCell {
    std::string id;
    std::string label;  // in charts
    verdict::Cell::Role role = verdict::Cell::Role::kMatrix;
    bool cache = false;  // node-cache's device and rules
    NodeCacheRules rules = {};
    bool serves = true;      // the cache's server runs
    bool link_local = true;  // with the cache: asked at 169.254.20.10, not at the service's address
    bool together = true;    // A and AAAA by two threads at one moment; else one after the other
    std::uint32_t pairs = 1000;
    bool again = false;  // after the cure was taken away
};

struct NodelocalValues {
    std::vector<std::string> objections;  // why it is no result; empty when it is one
    std::string device;                   // of node-cache: "dummy", "bridge without ports"
    // Pairs of lookups.
    std::uint64_t pairs = 0;
    std::uint64_t answered = 0;  // both, without an error
    std::uint64_t errors = 0;    // an error code among the answers
    std::uint64_t refused = 0;   // of those that lack an answer: told so by ICMP
    double slowest_ms = 0;
    // Pairs that lack an answer while one came to the client from another address than it had
    // asked.
    std::uint64_t untranslated = 0;
    // conntrack of the node.
    std::uint64_t clash_resolve = 0;
    std::uint64_t insert_failed = 0;
    std::uint64_t drop = 0;            // with those of insert_failed
    std::uint64_t client_entries = 0;  // of the clients' lookups, to port 53
    std::uint64_t cache_entries = 0;   // of the cache's own to its upstream
    // Packets that rules of the node counted.
    std::uint64_t service_hits = 0;  // KUBE-SERVICES' of the service: first packets of flows
    std::uint64_t raw_hits = 0;      // PREROUTING's NOTRACK
    std::uint64_t policy_drops = 0;  // INPUT's policy

    std::uint64_t lacking() const {
        const std::uint64_t told = answered + errors;
        return pairs > told ? pairs - told : 0;
    }
    std::uint64_t harmed() const { return pairs > answered ? pairs - answered : 0; }
};

using MeasuredNodelocalCell = Measurement<NodelocalCell, NodelocalValues>;

// Returns the cells in the order in which they run.
std::vector<NodelocalCell> nodelocal_plan();
Scenario nodelocal_scenario();

using NodelocalConclusions = model::Conclusions<NodelocalCell, NodelocalValues>;
const NodelocalConclusions& nodelocal_conclusions();

inline verdict::Cell conclude(const NodelocalCell& what, const NodelocalValues& seen) {
    return nodelocal_conclusions().conclude(what, seen);
}
inline verdict::ScenarioResult conclude(const std::vector<MeasuredNodelocalCell>& cells) {
    return nodelocal_conclusions().conclude(cells);
}

}  // namespace pathproof::scenario
