// One row of the matrix through a software NIC: handed over, on the wire, received; judged at the
// wire and at the receiver. The judges see bytes, claims and counters and nothing of any fault.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/calibration/material.h"
#include "dataplane/matrix/rx_cell.h"
#include "dataplane/matrix/tx_cell.h"

namespace pathproof::calibration {

// A cause of failure that was found in a row.
struct Verdict {
    std::string title;  // "PSEUDO", "SEG_HDR", "RX_GOOD_ON_BAD", "UNKNOWN", "MISSING", ...
    std::string place;  // "inner.tcp", "outer.udp.length", "l4", ...
    // Candidates for the name of an UNKNOWN checksum: names that fit all frames alike, or one that
    // too few frames showed.
    std::vector<std::string> candidates;
    std::uint64_t frames = 0;
};

struct RowResult {
    std::vector<Verdict> verdicts;  // causes only, see causes_of(); empty: the row is clean
    matrix::Deliveries deliveries;
    std::uint64_t frames = 0;  // judged, on the wire
    std::uint64_t caught = 0;  // of them objected to, at the wire or at the receiver
    std::uint64_t digest = 0;  // of all that could be seen: equal runs have equal ones
    bool clean() const { return verdicts.empty(); }
};

// The findings of a row without those that another one explains (matrix::causes_among()).
std::vector<Verdict> causes_of(const matrix::TxCellResult& result);
std::vector<Verdict> causes_of(const matrix::RxCellResult& result);

// Fields that the judge shall not look at: none, unless its blindness is to be shown.
RowResult run_row(const SendRow& row, softnic::SoftNic& nic, const matrix::FreeFields& free_fields);
RowResult run_row(const ReceiveRow& row, softnic::SoftNic& nic);

// Decides what rows cannot decide alone: whether frames were dropped for their wrong checksums, or
// with all of their class. Renames NOT_DELIVERED where all rows together show it.
void settle_drops(std::vector<RowResult>& rows);

}  // namespace pathproof::calibration
