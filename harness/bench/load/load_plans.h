// Makes the data plane's plans from a benchmark's job.
#pragma once

#include "dataplane/load/load_run.h"
#include "dataplane/port/eal.h"
#include "harness/bench/load/load_job.h"

namespace pathproof::bench {

// Returns whether the job's frames go through the kernel.
bool is_of_kernel(const LoadJob& job);
port::EalOptions eal_options_of(const LoadJob& job);
port::PortConfig port_config_of(const LoadJob& job);
// Pairs of A and AAAA queries in the order of their sequence, each with a UDP checksum as asked.
load::SourcePlan source_plan_of(const LoadJob& job);
load::IntakePlan intake_plan_of(const LoadJob& job);

}  // namespace pathproof::bench
