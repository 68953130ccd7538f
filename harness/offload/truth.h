// The truth table of a port: each offload that it has, or that the matrix asked for, under each
// kind of traffic.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/offload/defects.h"
#include "harness/profile/profile.h"
#include "harness/verdict/truth_table.h"

namespace pathproof::offload {

// The table's columns. Every row of the matrix belongs to exactly one: the last of these that fits.
inline constexpr std::size_t kConditions = 10;
const char* condition_name(std::size_t condition);  // "VXLAN on 4789"
std::size_t condition_of(const matrix::Row& row);

struct TruthSettings {
    std::string device;                       // in words
    std::optional<profile::Profile> profile;  // what is expected of the port
};

// Cells are named after cell_id().
verdict::TruthTable truth_table(const RowsRun& run, const Findings& findings,
                                const port::PortInfo& device, const TruthSettings& settings);

// "tx.vxlan-on-4789"
std::string cell_id(profile::Direction direction, std::size_t condition);

}  // namespace pathproof::offload
