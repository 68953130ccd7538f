// pmtu-blackhole: ping works over a VXLAN tunnel, large transfers hang, for its packets are too large
// for a hop of the path. Measuring and concluding are apart: pmtu_blackhole.cc runs cells,
// pmtu_blackhole_conclude.cc makes verdicts of plain values. IPv4.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/scenario/concluded.h"
#include "harness/scenario/model/figure.h"
#include "harness/scenario/service_path/path_losses.h"

namespace pathproof::scenario {

// A VXLAN tunnel of the client and the server, which are its VTEPs, by way of the DUT as a router.
struct TunnelOptions {
    unsigned mtu = 1450;      // of the vxlan devices
    unsigned hop_mtu = 1400;  // of the DUT's routes to both
    bool df = false;          // in the outer header
    bool icmp = true;         // the DUT's ICMP "fragmentation needed" leaves it
    // The VTEPs take outer fragments; they may discard them silently (RFC 7348, section 4.3).
    bool fragments = true;
    unsigned mss = 0;  // that both set in SYNs through the tunnel; 0: leave it
};

struct PmtuCell {
    std::string id;
    std::string label;  // in charts
    CellRole role = CellRole::kMatrix;
    TunnelOptions tunnel;
    bool again = false;  // after the cures were taken away

    // The largest packet inside of the tunnel that the hop passes whole, in bytes.
    std::uint32_t fits() const { return tunnel.hop_mtu - 50; }
};

struct PmtuValues {
    std::vector<std::string> objections;  // why it is no result; empty when it is one
    bool ping = false;                    // of 84 bytes
    bool small = false;                   // a TCP transfer of 100 bytes
    bool large = false;                   // one of 60,000
    std::uint64_t acknowledged = 0;       // bytes of that
    // Packets of ping: the largest that was seen to pass and the smallest that was not; 0: none.
    std::uint32_t passes = 0, stops = 0;
    // The router's counts: datagrams that it cut, datagrams that it could not cut, and its messages
    // about these.
    std::uint64_t cut = 0, too_big = 0, icmp_sent = 0;
    std::uint64_t icmp_dropped = 0;       // of these, by the rule
    std::uint64_t fragments_dropped = 0;  // by the rules of the VTEPs
    std::uint64_t icmp_seen = 0;          // by the client: destination unreachable
    PathLosses path;                      // what netfilter dropped, and links

    bool hangs() const { return ping && small && !large; }
    std::uint64_t by_other_rules() const {
        return path.netfilter_drops > icmp_dropped ? path.netfilter_drops - icmp_dropped : 0;
    }
};

using MeasuredPmtuCell = Measurement<PmtuCell, PmtuValues>;

// Returns the cells in the order in which they run.
std::vector<PmtuCell> pmtu_blackhole_plan();
Scenario pmtu_blackhole_scenario();

using PmtuConclusions = model::Conclusions<PmtuCell, PmtuValues>;
const PmtuConclusions& pmtu_blackhole_conclusions();

inline verdict::Cell conclude(const PmtuCell& what, const PmtuValues& seen) {
    return pmtu_blackhole_conclusions().conclude(what, seen);
}
inline verdict::ScenarioResult conclude(const std::vector<MeasuredPmtuCell>& cells) {
    return pmtu_blackhole_conclusions().conclude(cells);
}

}  // namespace pathproof::scenario
