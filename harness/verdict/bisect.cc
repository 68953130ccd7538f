#include "harness/verdict/bisect.h"

#include <algorithm>

namespace pathproof::verdict {
namespace {

int code_of(ScenarioVerdict verdict) {
    switch (verdict) {
        case ScenarioVerdict::kReproduced:
        case ScenarioVerdict::kDefectFound: return kBisectPresent;
        case ScenarioVerdict::kNotReproduced:
        case ScenarioVerdict::kNoDefectFound: return kBisectAbsent;
        case ScenarioVerdict::kExposed:
        case ScenarioVerdict::kMeasured:
        case ScenarioVerdict::kInconclusive:
        case ScenarioVerdict::kNotRun: break;
    }
    return kBisectSkip;
}

int code_of(CellVerdict verdict) {
    switch (verdict) {
        case CellVerdict::kPass: return kBisectAbsent;
        case CellVerdict::kFail: return kBisectPresent;
        default: return kBisectSkip;
    }
}

}  // namespace

int bisect_code(const RunResult& run, const std::string& scenario, const std::string& cell) {
    const auto ran = std::ranges::find(run.scenarios, scenario, &ScenarioResult::id);
    if (ran == run.scenarios.end()) {
        return kBisectSkip;
    }
    if (cell.empty()) {
        return code_of(ran->verdict);
    }
    if (const Cell* found = find_cell(*ran, cell)) {
        return code_of(found->verdict);
    }
    // A part that does not fail is not listed: absent, where the whole was judged.
    const Cell* whole = whole_of(cell, [&](const std::string& id) { return find_cell(*ran, id); });
    return whole != nullptr && code_of(whole->verdict) != kBisectSkip ? kBisectAbsent : kBisectSkip;
}

}  // namespace pathproof::verdict
