// Faults that act now and then (F48): one row of the matrix, many frames.
#pragma once

#include <cstdint>

#include "dataplane/calibration/score.h"

namespace pathproof::calibration {

// Whether the model acts on some frames only, by rate, by number, by queue or by flow.
bool is_intermittent(const softnic::FaultModel& model);

// As many frames as the fault's own arithmetic asks for, at most `most_frames`; n/a where these
// cannot show it, with the rate that they exclude (rule of three). Located: the frames objected to
// are those whose bytes changed, and these are the fault's: of its predicate, behind its number, or
// as many as its rate gives within four standard deviations.
FaultScore score_intermittent(const softnic::FaultModel& model, std::uint64_t seed,
                              std::uint64_t most_frames);

}  // namespace pathproof::calibration
