#include "harness/verdict/findings.h"

#include <algorithm>

namespace pathproof::verdict {
namespace {

// A cell whose failure speaks against the system.
bool speaks_against(const Cell& cell, Cell::Role role) {
    return fails(cell.verdict) && (role == Cell::Role::kMatrix || role == Cell::Role::kCure);
}

struct FailingCells {
    std::size_t all = 0;
    std::size_t known = 0;
    std::size_t fresh = 0;
};

FailingCells count_failing(const ScenarioResult& scenario) {
    FailingCells count;
    const auto add = [&](const Cell& cell, Cell::Role role) {
        if (speaks_against(cell, role)) {
            ++count.all;
            count.known += cell.known.empty() ? 0 : 1;
            count.fresh += cell.fresh ? 1 : 0;
        }
    };
    for (const Cell& cell : scenario.cells) {
        add(cell, cell.role);
    }
    for (const Cell& control : scenario.controls) {
        add(control, role_among_controls(control));
    }
    return count;
}

KeyFinding::State state_of(const ScenarioResult& scenario, const FailingCells& failing) {
    if (failing.all != 0 && failing.known == failing.all) {
        return KeyFinding::State::kAccepted;
    }
    if (failing.fresh != 0) {
        return KeyFinding::State::kNew;
    }
    return is_failure(scenario.verdict) && scenario.cure_shown ? KeyFinding::State::kConditional
                                                               : KeyFinding::State::kOpen;
}

// The order in which a reader needs them.
int rank_of(KeyFinding::State state) {
    switch (state) {
        case KeyFinding::State::kNew:
        case KeyFinding::State::kOpen: return 0;
        case KeyFinding::State::kConditional: return 1;
        case KeyFinding::State::kAccepted: return 2;
    }
    return 0;
}

}  // namespace

const char* name(KeyFinding::State state) {
    switch (state) {
        case KeyFinding::State::kOpen: return "open";
        case KeyFinding::State::kNew: return "new";
        case KeyFinding::State::kConditional: return "conditional";
        case KeyFinding::State::kAccepted: return "accepted";
    }
    return "open";
}

std::vector<KeyFinding> key_findings(const std::vector<ScenarioResult>& scenarios) {
    std::vector<KeyFinding> findings;
    for (const ScenarioResult& scenario : scenarios) {
        const FailingCells failing = count_failing(scenario);
        const bool decided = scenario.verdict != ScenarioVerdict::kInconclusive &&
                             scenario.verdict != ScenarioVerdict::kNotRun;
        if (!is_failure(scenario.verdict) && (failing.all == 0 || !decided)) {
            continue;
        }
        // A cure's text has what else it does on lines of their own.
        const std::size_t end = scenario.cure.find('\n');
        findings.push_back(
            {.scenario = scenario.id,
             .area = scenario.area,
             .state = state_of(scenario, failing),
             .headline = scenario.headline,
             .cause = scenario.cause,
             .cure = scenario.cure.substr(0, end),
             .price = end == std::string::npos ? "" : scenario.cure.substr(end + 1)});
    }
    std::ranges::stable_sort(findings, {},
                             [](const KeyFinding& finding) { return rank_of(finding.state); });
    return findings;
}

}  // namespace pathproof::verdict
