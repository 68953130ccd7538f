// The receiving side of a kernel device's truth table: what its driver and the kernel say of
// frames.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/truth/counters.h"
#include "harness/truth/defects.h"
#include "harness/truth/kernel_table.h"
#include "harness/verdict/truth_table.h"

namespace pathproof::truth {

// Frames of a run on the receiving side, all columns together.
struct KernelReceived {
    std::uint64_t frames = 0;
    std::uint64_t bad = 0;         // with a wrong checksum
    std::uint64_t verifiable = 0;  // transport checksums that can be judged
    std::uint64_t claimed = 0;     // of them called valid, or unfinished with good data
};
KernelReceived count_received(const RowsRun& run);

// Claims of transport checksums, one observation a column of columns_by_shape(): RX_GOOD_ON_BAD,
// RX_GOOD_UNCHECKED, RX_HEALED where they are false; "csum valid" where they are made and true;
// "no claim" where none is made. `cell`: the id of the run's cell; a false claim is found in
// "CELL.COLUMN". Only `direction` and `observed` are filled in.
verdict::TruthRow kernel_claims(const RowsRun& run, const std::string& cell);

// Reports whether each frame arrived, good or bad, with the bytes that were sent.
verdict::TruthRow kernel_delivery(const RowsRun& run, const std::string& cell);

// One setting of the features that decide over received frames.
struct ReceiveOutcome {
    Setting setting;
    SettingTaken taken;
    RowsRun run;
    Findings findings;
    std::vector<Defect> once;  // seen once, not confirmed
    std::vector<Defect> silences;
    KindCounts counts;
    bool counted = false;

    std::string id() const { return "rx." + setting.id(); }
};

// `again`: a second observation of these rows, behind all defects, in this order. Only what it
// shows again is held against the device; the others become `once`.
void keep_confirmed(const std::vector<std::size_t>& rows, const port::PortInfo& device,
                    RowsRun again, ReceiveOutcome& outcome);

verdict::TruthTable claims_table(const TruthRun& run, const std::vector<agent::Feature>& as_found,
                                 const std::vector<ReceiveOutcome>& outcomes);

}  // namespace pathproof::truth
