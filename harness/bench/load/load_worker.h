// Our own lane as a process: the run engine with its own sending and receiving loop, as `pathproof
// generate` uses it.
#pragma once

#include "dataplane/base/result.h"
#include "dataplane/load/load_run.h"
#include "harness/bench/load/load_job.h"

namespace pathproof::bench {

// Errors: what the EAL, the port and the run engine say.
Result<LoadOutcome> run_load_job(const LoadJob& job);

// Runs the job's frames, rate and time on ports that are open.
Result<LoadOutcome> run_job_on(port::Eal& eal, const load::Roles& roles, const LoadJob& job);

}  // namespace pathproof::bench
