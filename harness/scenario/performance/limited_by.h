// Words and look-ups that cells and charts of the performance scenario share.
#pragma once

#include <string>
#include <vector>

#include "harness/scenario/performance/figures.h"

namespace pathproof::scenario::performance {

inline constexpr const char* kDevice = "device";
inline constexpr const char* kTester = "tester";
inline constexpr const char* kLine = "line rate";
inline constexpr const char* kNobody = "not found";

// "64 bytes", "IMIX".
std::string frames_text(const std::vector<measure::FrameShare>& frames);
// Returns null if the goal was not searched for.
const search::GoalResult* goal_named(const ThroughputSeen& seen, const std::string& name);
// Names what kept the goal's lower bound from being higher, in one of the words above. The goal has
// a lower bound.
const char* limit_of(const search::GoalResult& goal, const ThroughputSeen& seen,
                     const Medium& medium);

}  // namespace pathproof::scenario::performance
