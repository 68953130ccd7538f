// Reasons why a pair run is no result: the tester's own errors, in sentences.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "dataplane/judge/pair_report.h"
#include "dataplane/load/load_run.h"
#include "dataplane/pairs/pair_plan.h"
#include "dataplane/port/port.h"
#include "dataplane/traffic/responder.h"

namespace pathproof::pairs {

// Counters of some ports, added up over the run.
struct PortAccount {
    std::string name;  // "port c0 and c1"
    std::uint64_t received = 0;
    std::uint64_t sent = 0;
    std::uint64_t left_over = 0;  // received before the run began or after it ended
};

void object_to_departures(const PairPlan& plan, const load::HandOver& handed,
                          judge::PairReport& report);
// Fills tester_lost too. `ports` as in report.ports.
void object_to_ports(std::span<port::Port> ports, judge::PairReport& report);
void object_to_responder(const traffic::ResponderCounts& counts, judge::PairReport& report);
// The ports' own account against the run's.
void object_to_account(const PortAccount& port, std::uint64_t received, std::uint64_t sent,
                       judge::PairReport& report);

}  // namespace pathproof::pairs
