// Acceptance limits: what a figure of a run is held against, as a plan's clause states it. They stand in a
// file of their own, or as [[acceptance]] in a NIC's profile:
//
//   [[limit]]
//   clause   = "4.2.1"
//   figure   = "performance/throughput.1518/ndr_line_share"   # SCENARIO/CELL/FIGURE; CELL may be a pattern
//   at_least = 95                                             # or at_most, or exactly
//   unit     = "%"                                            # left out where the figure is a count
//   decision = "interval"                                     # or "value"; see Decision
//   text     = "wire speed with full frames"                  # optional
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace pathproof::profile {

// Rule by which a figure meets its limit (ILAC-G8:09/2019, 4.2.1 and 4.2.2).
enum class Decision {
    kValue,     // the value alone decides (simple acceptance)
    kInterval,  // the whole 95 % interval is inside (guard band of the interval)
};
const char* name(Decision decision);  // "value", "interval"

struct AcceptanceLimit {
    std::string clause;
    std::string text;
    std::string scenario, cells, figure;  // `cells`: a pattern (fnmatch)
    std::optional<double> at_least, at_most, exactly;
    std::string unit;  // empty: a count
    Decision decision = Decision::kInterval;
    std::string where;  // "limits.toml:12"
    bool operator==(const AcceptanceLimit&) const = default;
};

// ">= 95 %", "= 0".
std::string condition_text(const AcceptanceLimit& limit);

}  // namespace pathproof::profile
