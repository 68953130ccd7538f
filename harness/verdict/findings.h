// A run's first news for a reader: its failures in the order in which they matter, and the
// conditions under which it qualifies.
#pragma once

#include <string>
#include <vector>

#include "harness/verdict/result.h"

namespace pathproof::verdict {

// A scenario that failed, as one line of a certificate.
struct KeyFinding {
    enum class State {
        kOpen,         // no cure was shown, and nobody accepts it
        kNew,          // likewise, and the baseline of the run does not know it
        kConditional,  // a cure was shown in this run
        kAccepted,     // the baseline of the run knows each failing cell; its waivers say by whom
    };
    std::string scenario;
    Area area = Area::kKernelPath;
    State state = State::kOpen;
    std::string headline;
    std::string cause;
    std::string cure;   // the setting, and what was seen after it; empty: none
    std::string price;  // what else the cure does; empty: nothing is known of it
};
const char* name(KeyFinding::State state);  // "open", "new", "conditional", "accepted"

// All failures of a run, those that need somebody first: open and new, conditional, accepted.
std::vector<KeyFinding> key_findings(const std::vector<ScenarioResult>& scenarios);

}  // namespace pathproof::verdict
