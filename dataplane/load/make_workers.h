// The workers of a run with their senders and receivers, made of roles and plan.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "dataplane/load/load_run.h"
#include "dataplane/load/load_worker.h"
#include "dataplane/load/run_ports.h"

namespace pathproof::load {

// The workers that the roles name, each once.
std::set<unsigned> workers_of(const std::vector<Roles::Queue>& queues);
std::set<unsigned> workers_of(const Roles& roles);

// Makes the source of the frames that the plan's sender number `sender` sends.
Result<std::unique_ptr<Source>> make_source(const LoadPlan& plan, unsigned sender,
                                            unsigned senders);

// Adds the workers to `workers`, whose place they keep for the question whether everything has
// arrived. Errors: frames that their port cannot send, what the sources and intakes say.
Status make_workers(const Roles& roles, const LoadPlan& plan, const RunPorts& ports,
                    const traffic::RunClock& clock, TrialBoard& board, LoadWorker::List& workers);

}  // namespace pathproof::load
