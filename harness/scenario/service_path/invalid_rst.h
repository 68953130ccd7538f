// invalid-rst: a segment that conntrack calls INVALID is not translated back, and the client resets
// the connection. Measuring and concluding are apart: invalid_rst.cc runs cells,
// invalid_rst_conclude.cc makes verdicts of plain values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/scenario/concluded.h"
#include "harness/scenario/model/figure.h"

namespace pathproof::scenario {

struct SegmentCell {
    std::string id;
    std::string label;  // in charts
    verdict::Cell::Role role = verdict::Cell::Role::kMatrix;
    // A segment more of the endpoint in each open connection: none, one from far ahead of the window,
    // an ACK once more, a copy of data that the client has acknowledged.
    enum class Sends : std::uint8_t {
        kNothing,
        kAhead,
        kInWindow,
        kLateCopy
    } sends = Sends::kAhead;
    Clauses cures = {};  // ids of those that are set on the DUT
    // Connections to the endpoint itself, whose answers pass by the DUT: what a cure breaks there.
    bool one_way = false;
    bool again = false;  // the first cell, after its cures were taken away

    // Segments outside of the window pass; what is INVALID is dropped.
    bool is_liberal() const { return std::ranges::count(cures, "be-liberal") != 0; }
    bool drops() const { return std::ranges::count(cures, "drop-invalid") != 0; }
};

struct SegmentValues {
    std::vector<std::string> objections;  // why it is no result; empty when it is one
    std::string liberal;                  // setting::kBeLiberal as read back
    std::uint64_t connects = 0;
    std::uint64_t segments = 0;  // put on the wire, one in each open connection
    std::uint64_t invalid =
        0;  // packets to the client that the DUT's rule for INVALID ones counted
    std::uint64_t untranslated =
        0;                       // segments that came to the client from the endpoint's own address
    std::uint64_t answered = 0;  // RSTs of the client to the endpoint's own address
    // Connections that did not come to their end, and of them those that were reset.
    std::uint64_t broken = 0;
    std::uint64_t reset = 0;
    // Broken connections, each in one place: with an untranslated segment and the client's RST, with a
    // RST of the server's without either, with an untranslated segment of a flow that conntrack had
    // no entry of.
    std::uint64_t by_segment = 0;
    std::uint64_t by_server = 0;
    std::uint64_t by_lost_entry = 0;
    // Connections that broke by a RST which the DUT itself made, as a rule rejected a packet.
    std::uint64_t by_dut = 0;
    std::string not_followed =
        "packets were not followed";  // why by_server may have some of by_dut

    // Returns as much of by_segment as the rule counted.
    std::uint64_t proven() const { return std::min(by_segment, invalid); }
    std::uint64_t unexplained() const {
        return broken - proven() - by_server - by_dut - by_lost_entry;
    }
};

using MeasuredSegmentCell = Measurement<SegmentCell, SegmentValues>;

// Returns the cells in the order in which they run.
std::vector<SegmentCell> segment_cells();
Scenario invalid_rst_scenario();

using SegmentConclusions = model::Conclusions<SegmentCell, SegmentValues>;
const SegmentConclusions& invalid_rst_conclusions();

inline verdict::Cell conclude(const SegmentCell& what, const SegmentValues& seen) {
    return invalid_rst_conclusions().conclude(what, seen);
}
inline verdict::ScenarioResult conclude(const std::vector<MeasuredSegmentCell>& cells) {
    return invalid_rst_conclusions().conclude(cells);
}

}  // namespace pathproof::scenario
