// Figures and sentences that the races share, at their own rate and at a load.
#pragma once

#include <cstdint>
#include <string>

#include "harness/scenario/race/race_experiments.h"

namespace pathproof::scenario {

// "Same 5-tuple", "SNAT collision", "Late answer".
const char* race_title(Race race);
// The cure of the race as a person types it, and where: "`-j MASQUERADE ...`".
std::string cure_of(Race race);
// "1.234 s".
std::string seconds_text(std::int64_t ns);

// Queries harmed by the race that the cell looks for.
std::uint64_t own_harm(const RaceCell& what, const RaceValues& seen);
// Pairs whose two packets clashed in conntrack and came through: conntrack's counter, or the events of hidden
// entries where the counter lags behind.
std::uint64_t clashes(const RaceValues& seen);
// Pairs that met the race, harmed or not: clashes, and packets that were seen to be dropped at insertion.
std::uint64_t pairs_raced(const RaceValues& seen);

// "conntrack resolved 30 clashes of 1000 pairs (clash_resolve), 20 pairs needed a hidden entry (NAT_CLASH)".
std::string exposure_text(const RaceValues& seen);
// The mechanism that a cell showed, with its figures. Empty where the cell met no race.
std::string cause_text(const RaceCell& what, const RaceValues& seen);

}  // namespace pathproof::scenario
