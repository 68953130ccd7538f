// Rejects runs and trials that make no sense, before anything is sent.
#pragma once

#include "dataplane/load/load_run.h"

namespace pathproof::load {

// Checks all of a run but its frames: who sends, listens and answers, burst and skew. `workers`:
// number of workers that the EAL has.
Status check_roles(const Roles& roles, unsigned workers);
Status check_plan(const LoadPlan& plan, const Roles& roles);

// Rejects one sender's frames if they are too long for its port or its buffers, or need offloads
// that were not requested from the port.
Status check_frames(const Source& source, const frame::FrameSpec& spec, const port::Port& port);

// A rate that is no number or that the ports' links cannot carry, no end, half a pair.
Status check_order(const TrialOrder& order, const LoadPlan& plan, double mean_frame_bytes,
                   const Roles& roles);

}  // namespace pathproof::load
