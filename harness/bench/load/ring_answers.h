// Asking and answering in one process, as a lane: our generator on one lcore, our responder on
// another, two rings between them.
#pragma once

#include "dataplane/base/result.h"
#include "harness/bench/load/load_job.h"

namespace pathproof::bench {

// The generator works on the job's first CPU, the responder on its control CPU.
Result<LoadOutcome> run_ring_answers(const LoadJob& job);

}  // namespace pathproof::bench
