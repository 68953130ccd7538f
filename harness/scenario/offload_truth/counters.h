// Counts good and bad frames that are sent to the kernel's own address: how many it refuses for
// their checksum and counts as such, how many it takes.
#pragma once

#include <cstdint>
#include <string>

#include "harness/scenario/offload_truth/addressed.h"
#include "harness/scenario/offload_truth/truth_bench.h"
#include "harness/truth/counters.h"
#include "harness/verdict/result.h"

namespace pathproof::scenario {

// Counts frames of each kind. A wrong count is taken a second time, and the kernel's drops are
// watched meanwhile.
Result<truth::KindCounts> count_addressed(TruthBench& bench, const AddressedDevice& addressed,
                                          std::uint64_t seed);

// "control.counters": two tables' rows and the cell of one setting of the device.
struct CounterVerdict {
    verdict::TruthRow kernel;
    verdict::TruthRow driver;
    verdict::Cell cell;
};
// The cell is INCONCLUSIVE where something was hidden or seen once only.
CounterVerdict judge_counters(const truth::KindCounts& counts, const std::string& setting,
                              const std::string& title);

}  // namespace pathproof::scenario
