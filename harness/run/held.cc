#include "harness/run/held.h"

#include <algorithm>

namespace pathproof::run {
namespace {

std::vector<acceptance::KnownScenario> known_to_plans() {
    std::vector<acceptance::KnownScenario> known;
    for (const scenario::Scenario& each : scenario::all_scenarios()) {
        acceptance::KnownScenario one{.id = each.id};
        if (each.cells != nullptr) {
            one.cells = each.cells();
        }
        for (const scenario::FigureRow& figure : scenario::figures_of(each)) {
            one.figures.push_back({figure.name, figure.unit});
        }
        known.push_back(std::move(one));
    }
    return known;
}

void put(verdict::ScenarioResult made, std::vector<verdict::ScenarioResult>& scenarios) {
    std::erase_if(scenarios, [&](const auto& each) { return each.id == made.id; });
    scenarios.push_back(std::move(made));
}

}  // namespace

Result<Held> Held::read(const verdict::RunOptions& asked,
                        const std::optional<profile::Profile>& profile) {
    Held held;
    if (!asked.limits.empty()) {
        held.limits = TRY(acceptance::read_limits(asked.limits));
    } else if (profile && !profile->acceptance.empty() && asked.command == "qualify") {
        held.limits = acceptance::Limits{.source = "profile " + profile->id,
                                         .title = "Acceptance limits of profile " + profile->id,
                                         .limits = profile->acceptance};
    }
    if (!asked.requirements.empty()) {
        held.requirements = TRY(acceptance::read_requirements(asked.requirements));
    }
    const auto known = known_to_plans();
    TRY(held.limits ? acceptance::check(*held.limits, known) : Status());
    TRY(held.requirements
            ? acceptance::check(*held.requirements, known, held.limits ? &*held.limits : nullptr)
            : Status());
    return held;
}

void Held::judge(std::vector<verdict::ScenarioResult>& scenarios) const {
    if (limits) {
        put(acceptance::judge(*limits, scenarios), scenarios);
    }
    if (requirements) {
        put(acceptance::judge(*requirements, scenarios), scenarios);
    }
}

}  // namespace pathproof::run
