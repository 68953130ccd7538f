// Line rates of Ethernet, and the cores that they take at a measured cost: arithmetic, no
// measurement.
#pragma once

#include <cstdint>
#include <map>

#include "harness/bench/experiment.h"

namespace pathproof::bench {

// Frames a second on a full link. `frame_bytes` with FCS (64 is the shortest); preamble, start
// delimiter and the gap between frames (IEEE 802.3: 7 + 1 + 12 bytes) come on top.
double line_rate_pps(double gigabits, std::uint32_t frame_bytes);

// Lcores for that, at this many frames a second each; whole ones. 0 when the cost is not known.
std::uint32_t cores_for(double gigabits, std::uint32_t frame_bytes, double pps_per_core);

// Frame size (with FCS) -> frames a second of one lcore; a row for each size, a column for each of
// 10, 25, 40 and 100 GbE.
Table line_rate_table(const std::map<std::uint32_t, double>& pps_by_size);

}  // namespace pathproof::bench
