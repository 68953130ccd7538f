// Runs a pair plan to its end on ports that are open, and follows every query of it: a run of the
// load engine (load/load_run.h) with a source, an intake and a responder of its own.
//
// Worker 0 sends the first member's queries (all of them unless the plan says kTwoPorts) and reads
// every client port; worker 1 sends the second member's and plays the responder. With one worker it
// does both. Each queue thus belongs to one lcore, and no record has two writers.
#pragma once

#include <atomic>
#include <optional>
#include <span>

#include "dataplane/base/result.h"
#include "dataplane/judge/pair_report.h"
#include "dataplane/pairs/pair_plan.h"
#include "dataplane/port/port.h"
#include "dataplane/traffic/answer_rule.h"

namespace pathproof::port {
class Eal;
}

namespace pathproof::pairs {

// Occupies one or two idle workers of `eal` and queue 0 of the ports that the plan names; returns
// when the last query has left and the longest answer delay and the plan's drain have passed, or
// soon after `stop` became true (the report then has an objection that says so). Without a
// responder the answers come from elsewhere: any answer with the right id and question, from the
// service address, counts.
//
// Errors, before anything is sent: a plan that makes no sense (kBadInput, says which field), a port
// that the tester does not have, too few workers for two ports, more pending answers than memory is
// kept for.
Result<judge::PairReport> run_pairs(port::Eal& eal, std::span<port::Port> ports,
                                    const PairPlan& plan,
                                    const std::optional<traffic::ResponderPlan>& responder,
                                    const std::atomic<bool>& stop);

// Checks the plan against the number of ports and workers; sends nothing.
Status check_plan(const PairPlan& plan, const std::optional<traffic::ResponderPlan>& responder,
                  std::size_t ports, std::size_t workers);

}  // namespace pathproof::pairs
