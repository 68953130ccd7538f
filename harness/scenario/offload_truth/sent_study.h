// Studies wrong frames once every setting was sent: which frames they are, when they occur, how a wrong
// value relates to the right one, and which work makes a device stall.
#pragma once

#include "harness/scenario/offload_truth/part.h"
#include "harness/scenario/offload_truth/truth_bench.h"
#include "harness/truth/kernel_table.h"

namespace pathproof::scenario {

// A plain frame of the set, for a watch for stalls: it leaves nothing to the device.
matrix::Probe plain_probe(const truth::ProbeSet& set);

// Super-frames of many segments, and with tails of all kinds, which no row of the matrix has, behind the
// set's rows: up to 64 segments and 64 KiB.
Status add_long_super_frames(std::uint32_t each, truth::ProbeSet& set);

// Fills in the run's relations, `in_time`, and what its values say of missing frames.
void study_time(truth::TruthRun& run);

// Fills in the run's `where` of the wrong values of the first setting that shows any, with borders
// found by frames that are made for it. Where several descriptions fit the same frames, sends others that
// belong to one of them alone.
Status study_places(TruthBench& bench, const truth::ProbeSet& set, truth::TruthRun& run);

// Confirms values that were seen only once: sends the rows of their setting again, up to a dozen times,
// until they show again.
Status chase(TruthBench& bench, const truth::ProbeSet& set, truth::StallWatch& watch,
             truth::TruthRun& run);

// Makes a device that stalled do so again, and tries the settings that spare it the work at which it
// stalls. Fills in the values' stalls and their cure.
Status study_stalls(TruthBench& bench, const truth::ProbeSet& set, truth::StallWatch& watch,
                    truth::TruthRun& run);

}  // namespace pathproof::scenario
