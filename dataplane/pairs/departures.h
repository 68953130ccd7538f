// Departures of a run's queries, compared with their deadlines.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/judge/pair_report.h"
#include "dataplane/pairs/pair_plan.h"

namespace pathproof::pairs {

inline constexpr std::int64_t kLateNs = 10'000;
inline constexpr std::int64_t kNeverSent = -1;

// Returns every query's deadline, in pair-major order, in a run whose first deadline was
// `began_ns`. In turn the second of a pair is due behind the first's departure.
std::vector<std::int64_t> deadlines(const PairPlan& plan, std::int64_t began_ns,
                                    std::span<const std::int64_t> sent_ns);

// Summary over queries in pair-major order (query 2 * pair + member). Times in ns since the run's
// start; kNeverSent for queries that never left. `refused` is taken as given.
judge::Departures summarize_departures(std::span<const std::int64_t> sent_ns,
                                       std::span<const std::int64_t> deadline_ns,
                                       std::uint64_t refused);

}  // namespace pathproof::pairs
