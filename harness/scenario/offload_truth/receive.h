// The receiving side of the device: the matrix's good and bad frames sent to it, what its driver
// and the kernel say of each (PACKET_AUXDATA), and what the kernel counts of those for itself.
#pragma once

#include "harness/scenario/offload_truth/cells.h"
#include "harness/truth/rows.h"

namespace pathproof::scenario {

// Steps of progress that judge_receipt() makes.
std::size_t receive_steps(const std::vector<agent::Feature>& features);

// The rows that are received.
truth::RowSettings receive_rows(const Context& context, const TruthBench& bench);

// Adds cells, two truth tables and what is wrong to those of the transmit side, whose features are
// as they were found. `run`: of the transmit side.
Status judge_receipt(Context& context, TruthBench& bench, truth::TruthRun& run,
                     verdict::ScenarioResult& result);

}  // namespace pathproof::scenario
