// Faults that act now and then (F48): one row of the matrix, many frames.
#pragma once

#include <cstdint>

#include "dataplane/calibration/score.h"

namespace pathproof::calibration {

// Returns whether the model acts on some frames only, by rate, by number, by queue or by flow.
bool is_intermittent(const softnic::FaultModel& model);

// Scores the fault on as many frames as its own arithmetic requires, at most `most_frames`. The
// score is n/a where these cannot show the fault, with the rate that they exclude (rule of three).
// It is located if the frames objected to are those whose bytes changed, and these are the fault's:
// of its predicate, behind its number, or as many as its rate gives within four standard
// deviations.
FaultScore score_intermittent(const softnic::FaultModel& model, std::uint64_t seed,
                              std::uint64_t most_frames);

}  // namespace pathproof::calibration
