// What is found out about wrong frames once every setting was sent: where they are, how they lie in
// time, what a wrong value has to do with the right one, and what a device that stalls needs for it.
#pragma once

#include "harness/scenario/offload_truth/part.h"
#include "harness/scenario/offload_truth/truth_bench.h"
#include "harness/truth/kernel_table.h"

namespace pathproof::scenario {

// A plain frame of the set, for a watch for stalls: it leaves nothing to the device.
matrix::Probe plain_probe(const truth::ProbeSet& set);

// Super-frames of many segments, which no row of the matrix has, behind the set's rows.
Status add_long_super_frames(std::uint32_t each, truth::ProbeSet& set);

// Fills in the run's relations, `in_time`, and what its values say of missing frames.
void study_time(truth::TruthRun& run);

// Fills in the run's `where` of the wrong values of the first setting that shows any, with borders
// found by frames that are made for it.
Status study_places(TruthBench& bench, const truth::ProbeSet& set, truth::TruthRun& run);

// Of values that were seen once only: sends the rows of their setting again, up to a dozen times,
// until they show again. They are confirmed then.
Status chase(TruthBench& bench, const truth::ProbeSet& set, truth::StallWatch& watch,
             truth::TruthRun& run);

// Where the device stalled: makes it stall again, and tries the settings that leave it without the
// work at which it does. Fills in the values' stalls and their cure.
Status study_stalls(TruthBench& bench, const truth::ProbeSet& set, truth::StallWatch& watch,
                    truth::TruthRun& run);

}  // namespace pathproof::scenario
