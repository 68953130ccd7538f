// bridge-unnat: answers that a bridge switches past conntrack, and so with the backend's own address.
// Measuring and concluding are apart: bridge_unnat.cc runs cells, bridge_unnat_conclude.cc makes
// verdicts of plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/scenario/concluded.h"
#include "harness/scenario/model/figure.h"

namespace pathproof::scenario {

struct BridgeCell {
    std::string id;
    std::string label;  // in charts
    verdict::Cell::Role role = verdict::Cell::Role::kMatrix;
    // Target of the client's query: a service whose backend is a port of the client's own bridge, a
    // service whose backend is on another host, or the bridge's backend by its own address.
    enum class Asks : std::uint8_t { kNeighbour, kOtherHost, kDirectly } asks = Asks::kNeighbour;
    bool filtered = false;  // net.bridge.bridge-nf-call-iptables
    bool hairpin = false;   // MASQUERADE of what goes from the client's network back to it
    bool again = false;     // the first cell, after its cures were taken away
};

struct BridgeValues {
    std::vector<std::string> objections;  // why it is no result; empty when it is one
    std::string filtered;                 // net.bridge.bridge-nf-call-iptables as read back
    std::uint64_t lookups = 0;
    std::uint64_t answered = 0;  // lookups
    // Answers on the client's wire, by their source: what the client asked, the backend of the
    // service, another.
    std::uint64_t from_asked = 0;
    std::uint64_t from_backend = 0;
    std::uint64_t from_others = 0;
    // Flows (client ports) with answers from the backend whose entry of conntrack goes from the
    // service to it and is [UNREPLIED], and those without such an entry.
    std::uint64_t unreplied = 0;
    std::uint64_t unnamed = 0;
    std::string entry_text;  // of one that is unreplied
    // Hooks that have packets of the bridge's ports before the bridge does, or behind it; empty: none.
    std::string around_bridge;

    std::uint64_t failed() const { return lookups - answered; }
};

using MeasuredBridgeCell = Measurement<BridgeCell, BridgeValues>;

// Returns the cells in the order in which they run.
std::vector<BridgeCell> bridge_cells();
Scenario bridge_unnat_scenario();

using BridgeConclusions = model::Conclusions<BridgeCell, BridgeValues>;
const BridgeConclusions& bridge_unnat_conclusions();

inline verdict::Cell conclude(const BridgeCell& what, const BridgeValues& seen) {
    return bridge_unnat_conclusions().conclude(what, seen);
}
inline verdict::ScenarioResult conclude(const std::vector<MeasuredBridgeCell>& cells) {
    return bridge_unnat_conclusions().conclude(cells);
}

}  // namespace pathproof::scenario
