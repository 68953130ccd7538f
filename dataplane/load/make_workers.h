// The workers of a run with their senders and receivers, made of roles and plan.
#pragma once

#include <memory>
#include <vector>

#include "dataplane/load/load_run.h"
#include "dataplane/load/load_worker.h"
#include "dataplane/load/run_ports.h"

namespace pathproof::load {

// How many different workers the roles name, and how many of them send.
unsigned workers_in(const Roles& roles);
unsigned sending_workers_in(const Roles& roles);

// Where the frames of the plan's sender number `sender` come from.
Result<std::unique_ptr<Source>> make_source(const LoadPlan& plan, unsigned sender,
                                            unsigned senders);

// Adds the workers to `workers`, whose place they keep for the question whether everything has
// arrived. Errors: frames that their port cannot send, what the sources and intakes say.
Status make_workers(const Roles& roles, const LoadPlan& plan, const RunPorts& ports,
                    const traffic::RunClock& clock, TrialBoard& board, LoadWorker::List& workers);

}  // namespace pathproof::load
