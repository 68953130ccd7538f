// When every query left, and how that compares with when it should have.
#pragma once

#include <cstdint>
#include <span>

#include "dataplane/judge/pair_report.h"

namespace pathproof::traffic {

inline constexpr std::int64_t kLateNs = 10'000;
inline constexpr std::int64_t kNeverSent = -1;

// Summary over queries in pair-major order (query 2 * pair + member). Times in ns since the run's
// start; kNeverSent for queries that never left. `refused` is taken as given.
judge::Departures summarize_departures(std::span<const std::int64_t> sent_ns,
                                       std::span<const std::int64_t> deadline_ns,
                                       std::uint64_t refused);

}  // namespace pathproof::traffic
