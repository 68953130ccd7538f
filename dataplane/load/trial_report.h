// The workers' accounts of one trial as one.
#pragma once

#include "dataplane/load/load_worker.h"

namespace pathproof::load {

// All of a report but the ports' counters, the clock and the judgement. The workers stand still.
TrialReport assemble(const LoadWorker::List& workers, const traffic::RunClock& clock,
                     const TrialOrder& order);

}  // namespace pathproof::load
