// snat-timestamps: connects of 1, 2, 4 s through SNAT. Measuring and concluding are apart:
// snat_timestamps.cc runs cells, snat_timestamps_conclude.cc makes verdicts of plain values.
#pragma once

#include <string>
#include <vector>

#include "harness/lab/snat.h"
#include "harness/scenario/concluded.h"
#include "harness/scenario/model/figure.h"
#include "harness/scenario/own_ends.h"
#include "harness/scenario/service_path/syn_trail.h"

namespace pathproof::scenario {

// Settings of the path: the DUT's MASQUERADE of TCP, and the client.
struct TimestampPath {
    lab::Snat snat = lab::Snat::kMasqueradeRandomFully;
    lab::PortRange snat_ports = {};    // --to-ports
    lab::PortRange client_ports = {};  // net.ipv4.ip_local_port_range
    unsigned timestamps = 1;           // net.ipv4.tcp_timestamps
};

struct TimestampCell {
    std::string id;
    std::string label;  // in charts
    verdict::Cell::Role role = verdict::Cell::Role::kMatrix;
    bool full_range = false;  // the NAT may use all ports
    bool again = false;       // the first cell of the small range, after its cure was taken away
    TimestampPath path;
    agent::Closer closes_first = agent::Closer::kServer;
    std::uint32_t connects = 0;
    double per_second = 0;

    bool translates() const { return path.snat != lab::Snat::kNone; }
    // Returns whether the cell is about a server without TIME_WAIT.
    bool without_time_wait() const { return closes_first == agent::Closer::kClient; }
};

struct TimestampValues {
    std::vector<std::string> objections;  // why it is no result; empty when it is one
    SynFindings found;
    // Counters, as growth over the cell.
    std::uint64_t paws = 0;           // server, TcpExt.PAWSTimewait (before Linux 6.14: PAWSEstab)
    std::uint64_t client_resets = 0;  // client, Tcp.OutRsts
    std::uint64_t syn_retransmits = 0;   // client, TcpExt.TCPSynRetrans
    std::uint64_t listen_overflows = 0;  // server, TcpExt.ListenOverflows
    std::uint64_t insert_failed = 0;     // conntrack
    std::uint64_t drop = 0;              // conntrack
    double seconds = 0;                  // from the first connect until the last was over
    double per_second = 0;               // at which they were begun
    double worst_late_ms = 0;            // of a connect, behind its moment
    unsigned attempts = 1;
    OwnEnds answers;  // the server's SYN-ACKs, on the DUT
};

using MeasuredTimestampCell = Measurement<TimestampCell, TimestampValues>;

// Returns the cells in the order in which they run.
std::vector<TimestampCell> timestamp_cells();
Scenario snat_timestamps_scenario();

using TimestampConclusions = model::Conclusions<TimestampCell, TimestampValues>;
const TimestampConclusions& snat_timestamps_conclusions();

inline verdict::Cell conclude(const TimestampCell& what, const TimestampValues& seen) {
    return snat_timestamps_conclusions().conclude(what, seen);
}
inline verdict::ScenarioResult conclude(const std::vector<MeasuredTimestampCell>& cells) {
    return snat_timestamps_conclusions().conclude(cells);
}

// Adds to each cure by which MASQUERADE draws ports its side effect, as snat-timestamps saw it in this
// run or as not measured in it, and what avoids it.
void tell_side_effects(std::vector<verdict::ScenarioResult>& scenarios);

}  // namespace pathproof::scenario
