// snat-exhaustion: flows fail for want of a port behind SNAT though ports are free, for the kernel
// gives its search up. Measuring and concluding are apart: snat_exhaustion.cc runs cells,
// snat_exhaustion_conclude.cc makes verdicts of plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/scenario/concluded.h"
#include "harness/scenario/model/figure.h"
#include "harness/scenario/service_path/path_losses.h"

namespace pathproof::scenario {

struct ExhaustionCell {
    std::string id;
    std::string label;  // in charts
    CellRole role = CellRole::kMatrix;
    unsigned from = 0;       // percent of the range that is in use before the flows that are judged
    unsigned to = 10;        // and after them
    bool all_ports = false;  // MASQUERADE takes any port for the flows that are judged
    bool again = false;      // after the cure was taken away
    frame::Family family = frame::Family::kIpv4;
};

struct ExhaustionValues {
    std::vector<std::string> objections;  // why it is no result; empty when it is one
    std::string lacks;                    // what this machine has not, and the cell takes
    std::uint64_t ports = 0;              // of the range
    std::uint64_t used_before = 0, used_after = 0;
    std::uint64_t flows = 0;        // a datagram each
    std::uint64_t made = 0;         // of them got an entry, and with it a port
    std::uint64_t fewest_free = 0;  // ports, when a flow failed
    double expected = 0;            // failures, by the kernel's search in the ports then in use
    double variance = 0;            // of that
    std::uint64_t overruns = 0;     // of events: some of `made` may be missing
    PathLosses path;

    std::uint64_t failed() const { return flows > made ? flows - made : 0; }
};

using MeasuredExhaustionCell = Measurement<ExhaustionCell, ExhaustionValues>;

// The probability that the kernel finds no port in a range of which these are in use: since Linux 5.0
// it tries 128 in a row from a random one, then 64, 32, 16 and 8 (nf_nat_l4proto_unique_tuple), or
// all of a range of at most 128.
double search_failure(const std::vector<bool>& used);

// Returns the cells in the order in which they run.
std::vector<ExhaustionCell> snat_exhaustion_plan();
Scenario snat_exhaustion_scenario();

using ExhaustionConclusions = model::Conclusions<ExhaustionCell, ExhaustionValues>;
const ExhaustionConclusions& snat_exhaustion_conclusions();

inline verdict::Cell conclude(const ExhaustionCell& what, const ExhaustionValues& seen) {
    return snat_exhaustion_conclusions().conclude(what, seen);
}
inline verdict::ScenarioResult conclude(const std::vector<MeasuredExhaustionCell>& cells) {
    return snat_exhaustion_conclusions().conclude(cells);
}

}  // namespace pathproof::scenario
