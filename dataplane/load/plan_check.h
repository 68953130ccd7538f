// What makes no sense about a run or a trial: found before anything is sent.
#pragma once

#include "dataplane/load/load_run.h"

namespace pathproof::load {

// Of a run, all but its frames: who sends, listens and answers, burst and skew. `workers`: that the
// EAL has.
Status check_roles(const Roles& roles, unsigned workers);
Status check_plan(const LoadPlan& plan, const Roles& roles);

// Of one sender's frames: too long for its port or for its buffers, offloads that were not asked of
// the port.
Status check_frames(const Source& source, const frame::FrameSpec& spec, const port::Port& port);

// A rate that is no number or that the ports' links cannot carry, no end, half a pair.
Status check_order(const TrialOrder& order, const LoadPlan& plan, double mean_frame_bytes,
                   const Roles& roles);

}  // namespace pathproof::load
