// ipvs-reuse: a connect through IPVS takes 1 s where its port was used before. Measuring and concluding
// are apart: ipvs_reuse.cc runs cells, ipvs_reuse_conclude.cc makes verdicts of plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/scenario/concluded.h"
#include "harness/scenario/model/figure.h"

namespace pathproof::scenario {

// A connect that waited for its second SYN, sent after 1 s (RFC 6298, section 2.1), takes as long.
inline constexpr double kSecondSynMs = 990;

struct ReuseCell {
    std::string id;
    std::string label;  // in charts
    CellRole role = CellRole::kMatrix;
    unsigned mode = 1;         // net.ipv4.vs.conn_reuse_mode
    bool other_ports = false;  // none is used twice
    bool again = false;        // after the cure was taken away
};

struct ReuseValues {
    std::vector<std::string> objections;  // why it is no result; empty when it is one
    std::uint64_t connects = 0, failed = 0;
    std::uint64_t reused = 0;     // from a port that was used before in the cell
    std::uint64_t time_wait = 0;  // connections of IPVS in TIME_WAIT at the end
    std::uint64_t slow = 0;       // connected after kSecondSynMs or more
    // Slow connects from a port that was used before whose first SYN came to the DUT and did not
    // leave it.
    std::uint64_t swallowed = 0;
    double worst_ms = 0;       // from a start to connected
    double worst_late_ms = 0;  // of a start, behind its moment
};

using MeasuredReuseCell = Measurement<ReuseCell, ReuseValues>;

// Returns the cells in the order in which they run.
std::vector<ReuseCell> ipvs_reuse_plan();
Scenario ipvs_reuse_scenario();

using ReuseConclusions = model::Conclusions<ReuseCell, ReuseValues>;
const ReuseConclusions& ipvs_reuse_conclusions();

inline verdict::Cell conclude(const ReuseCell& what, const ReuseValues& seen) {
    return ipvs_reuse_conclusions().conclude(what, seen);
}
inline verdict::ScenarioResult conclude(const std::vector<MeasuredReuseCell>& cells) {
    return ipvs_reuse_conclusions().conclude(cells);
}

}  // namespace pathproof::scenario
