// table-full: conntrack's table is full, new flows are dropped or push out other people's. Measuring
// and concluding are apart: table_full.cc runs cells, table_full_conclude.cc makes verdicts of plain
// values. IPv4.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/scenario/concluded.h"
#include "harness/scenario/model/figure.h"
#include "harness/scenario/service_path/path_losses.h"

namespace pathproof::scenario {

struct TableCell {
    std::string id;
    std::string label;  // in charts
    CellRole role = CellRole::kMatrix;
    bool assured = true;     // the entries that fill it are of answered flows
    unsigned percent = 100;  // of the limit
    bool deletes = false;    // some of these entries, before the new flows come
    bool again = false;      // after the cure was taken away

    bool full() const { return percent == 100 && !deletes; }
};

// An entry of another flow that went while the new ones came.
struct Eviction {
    std::string flow;
    std::string before;  // the new flow whose entry came next; empty: none did
};

struct TableValues {
    std::vector<std::string> objections;  // why it is no result; empty when it is one
    std::uint64_t maximum = 0;            // entries that a table takes
    std::uint64_t entries = 0;            // before the new flows came
    std::uint64_t flows = 0;              // new ones: datagrams and connects
    std::uint64_t datagrams = 0, datagrams_arrived = 0;
    std::uint64_t connects = 0, connected = 0;
    PathLosses path;
    std::vector<Eviction> evicted;
    std::uint64_t overruns = 0;  // of events: `evicted` is a lower bound
    std::uint64_t deleted = 0;   // by the cure
    std::string cure_command;

    std::uint64_t failed() const {
        const std::uint64_t through = datagrams_arrived + connected;
        return flows > through ? flows - through : 0;
    }
};

using MeasuredTableCell = Measurement<TableCell, TableValues>;

// Returns the cells in the order in which they run.
std::vector<TableCell> table_full_plan();
Scenario table_full_scenario();

using TableConclusions = model::Conclusions<TableCell, TableValues>;
const TableConclusions& table_full_conclusions();

inline verdict::Cell conclude(const TableCell& what, const TableValues& seen) {
    return table_full_conclusions().conclude(what, seen);
}
inline verdict::ScenarioResult conclude(const std::vector<MeasuredTableCell>& cells) {
    return table_full_conclusions().conclude(cells);
}

}  // namespace pathproof::scenario
