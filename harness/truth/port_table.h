// The truth table of a DPDK port: each offload that it has, or that the matrix asked for, under
// each kind of traffic.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/profile/profile.h"
#include "harness/truth/condition.h"
#include "harness/truth/defects.h"
#include "harness/verdict/truth_table.h"

namespace pathproof::truth {

struct TruthSettings {
    std::string device;                       // in words
    std::optional<profile::Profile> profile;  // what is expected of the port
};

// Cells are named after cell_id().
verdict::TruthTable truth_table(const RowsRun& run, const Findings& findings,
                                const port::PortInfo& device, const TruthSettings& settings);

// The defects that rows of a column of columns_by_shape() show, of one direction.
std::vector<const Defect*> defects_in(const RowsRun& run, const Findings& findings,
                                      profile::Direction direction, const Column& column);

// "tx.vxlan-on-4789"
std::string cell_id(profile::Direction direction, const Column& column);

}  // namespace pathproof::truth
