// Lanes of ours: `pathproof bench worker` with a job, as a process beside the peers'.
#pragma once

#include <chrono>
#include <string>

#include "harness/bench/lanes/dataplane_bench.h"
#include "harness/bench/load/load_job.h"
#include "harness/bench/measured_program.h"

namespace pathproof::bench {

// A job for the cores of this benchmark, with its time.
LoadJob job_on(const DataplaneBench& bench);

// No run of a lane takes so long: a search for a rate has up to thirty trials.
std::chrono::seconds longest_run(const DataplaneBench& bench);

// The command line of a worker: "load", "verify", "ring-answers".
std::vector<std::string> worker_command(const std::string& worker, const std::string& job);

// Runs "load" or "ring-answers" to its end. An error when a frame came back with a wrong checksum:
// what is not right has no speed.
Result<Measurement> run_own(const DataplaneBench& bench, const LoadJob& job,
                            const std::string& netns = "", const std::string& worker = "load");

// "cycles", "mpps", "frames_per_second", "frame_bytes", "sent", "missing_share"; after a search
// "loss_bound".
Figures figures_of(const LoadOutcome& outcome);

// A lane of run_own().
Lane own_lane(const DataplaneBench& bench, std::string id, std::string title, std::string note,
              const LoadJob& job);

}  // namespace pathproof::bench
