// The truth table of a port: each offload that it has, or that the matrix asked for, under each
// kind of traffic. And what a kernel device said of received frames, as rows of one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/profile/profile.h"
#include "harness/truth/defects.h"
#include "harness/verdict/truth_table.h"

namespace pathproof::truth {

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

// "plain", "vxlan-on-4789": a condition in the id of a cell.
std::string condition_word(std::size_t condition);
// The defects that rows of a condition show, of one direction.
std::vector<const Defect*> defects_in(const RowsRun& run, const Findings& findings,
                                      profile::Direction direction, std::size_t condition);

// "tx.vxlan-on-4789"
std::string cell_id(profile::Direction direction, std::size_t condition);

// Frames of a run on the receiving side, all conditions together.
struct KernelReceived {
    std::uint64_t frames = 0;
    std::uint64_t bad = 0;         // with a wrong checksum
    std::uint64_t verifiable = 0;  // transport checksums that can be judged
    std::uint64_t claimed = 0;     // of them called valid, or unfinished with good data
};
KernelReceived count_received(const RowsRun& run);

// Claims of transport checksums, one observation a condition of truth.h: RX_GOOD_ON_BAD,
// RX_GOOD_UNCHECKED, RX_HEALED where they are false; "csum valid" where they are made and true;
// "no claim" where none is made. `cell`: the id of the run's cell; a false claim is found in
// "CELL.CONDITION". Only `direction` and `observed` are filled in.
verdict::TruthRow kernel_claims(const RowsRun& run, const std::string& cell);

// Whether each frame arrived, good or bad, with the bytes that were sent.
verdict::TruthRow kernel_delivery(const RowsRun& run, const std::string& cell);

}  // namespace pathproof::truth
