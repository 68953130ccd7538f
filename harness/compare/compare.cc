#include "harness/compare/compare.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/compare/cells.h"
#include "harness/compare/figures.h"

namespace pathproof::compare {

using namespace verdict;

const char* name(Change change) {
    switch (change) {
        case Change::kNewFailure: return "new failure";
        case Change::kChangedCause: return "changed cause";
        case Change::kUnstable: return "became unstable";
        case Change::kFailureGone: return "failure gone";
        case Change::kFailsLess: return "fails less often";
        case Change::kAppeared: return "appeared";
        case Change::kDisappeared: return "disappeared";
        case Change::kNotComparable: break;
    }
    return "not comparable";
}

bool is_worse(Change change) {
    return change == Change::kNewFailure || change == Change::kChangedCause ||
           change == Change::kUnstable;
}

std::size_t Comparison::count(Change change) const {
    return static_cast<std::size_t>(std::ranges::count(changed, change, &Changed::change));
}

bool Comparison::worse() const {
    return std::ranges::any_of(
        changed, [](const Changed& each) { return each.known.empty() && is_worse(each.change); });
}

std::string not_comparable(const RunResult& before, const RunResult& now) {
    // Two devices, or one that was renamed, can be compared.
    const bool devices = before.lab.starts_with("device ") && now.lab.starts_with("device ");
    if (before.lab != now.lab && !devices) {
        return fmt::format("one is of lab {}, the other of lab {}", before.lab, now.lab);
    }
    if (before.evidence_class != now.evidence_class) {
        return fmt::format("one is {} evidence, the other {}", before.evidence_class,
                           now.evidence_class);
    }
    const bool common = std::ranges::any_of(now.scenarios, [&](const ScenarioResult& scenario) {
        return scenario_of(before, scenario.id) != nullptr;
    });
    return common ? "" : "they have no scenario in common";
}

Comparison compare(const RunResult& before, const RunResult& now, const Noise& noise) {
    Comparison result;
    for (const ScenarioResult& scenario : now.scenarios) {
        compare_scenario(scenario_of(before, scenario.id), &scenario, result);
    }
    for (const ScenarioResult& scenario : before.scenarios) {
        if (scenario_of(now, scenario.id) == nullptr) {
            compare_scenario(&scenario, nullptr, result);
        }
    }
    std::ranges::stable_sort(result.changed, {}, &Changed::change);
    compare_figures(before, now, noise, result);
    result.differences = differences(before, now);
    return result;
}

int exit_code(const Comparison& comparison) {
    if (comparison.worse()) {
        return 1;
    }
    return comparison.count(Change::kNotComparable) != 0 ? 3 : 0;
}

}  // namespace pathproof::compare
