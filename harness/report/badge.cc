#include "harness/report/badge.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/report/certificate.h"

namespace pathproof::report {

using namespace verdict;

namespace {

std::string what_speaks_against(const RunResult& run) {
    bool failed = false;
    bool unnamed = false;
    bool harmed = false;
    for (const ScenarioResult& scenario : run.scenarios) {
        failed |= is_failure(scenario.verdict);
        harmed |= scenario.verdict == ScenarioVerdict::kReproduced;
        unnamed |= is_failure(scenario.verdict) && scenario.cause.empty();
    }
    if (!failed) {
        return "Something failed that this run did not look for: the cells below show it.";
    }
    // A defect may be one that no packet met: what a plug-in's CHECK says, a feature's name.
    const std::string what = harmed ? "Packets are carried wrongly" : "A defect was found";
    return what + (unnamed ? ", and this run could not name the cause of all of it."
                           : ". The cause is named below; no cure was shown in this run.");
}

}  // namespace

Badge badge_of(CellVerdict verdict) {
    switch (verdict) {
        case CellVerdict::kPass: return {"good", "✓", name(verdict)};
        case CellVerdict::kFail: return {"bad", "✕", name(verdict)};
        case CellVerdict::kError: return {"warn", "!", name(verdict)};
        case CellVerdict::kSkip: return {"mute", "–", name(verdict)};
        case CellVerdict::kInconclusive: return {"warn", "?", name(verdict)};
        case CellVerdict::kUnstable: return {"bad", "≈", name(verdict)};
    }
    return {"warn", "!", name(verdict)};
}

Badge badge_of(ScenarioVerdict verdict) {
    switch (verdict) {
        case ScenarioVerdict::kReproduced:
        case ScenarioVerdict::kDefectFound: return {"bad", "✕", name(verdict)};
        case ScenarioVerdict::kNotReproduced:
        case ScenarioVerdict::kNoDefectFound:
        case ScenarioVerdict::kMeasured: return {"good", "✓", name(verdict)};
        case ScenarioVerdict::kExposed: return {"warn", "!", name(verdict)};
        case ScenarioVerdict::kInconclusive:
        case ScenarioVerdict::kNotRun: return {"warn", "?", name(verdict)};
    }
    return {"warn", "?", name(verdict)};
}

Badge badge_of(RunVerdict verdict) {
    switch (verdict) {
        case RunVerdict::kQualified: return {"good", "✓", name(verdict)};
        case RunVerdict::kConditionallyQualified: return {"warn", "!", name(verdict)};
        case RunVerdict::kNotQualified: return {"bad", "✕", name(verdict)};
        case RunVerdict::kIncomplete: return {"mute", "?", name(verdict)};
    }
    return {"mute", "?", name(verdict)};
}

std::string meaning(const RunResult& run) {
    const bool known = std::ranges::all_of(
        run.scenarios, [](const ScenarioResult& scenario) { return !is_truth(scenario.verdict); });
    switch (run.verdict) {
        case RunVerdict::kQualified: return "Nothing that this run looked for went wrong.";
        case RunVerdict::kConditionallyQualified:
            return fmt::format(
                "{} on this system. For each of them this run named the cause and showed a cure "
                "that works.",
                known ? "Known failures exist" : "Failures exist");
        case RunVerdict::kNotQualified: return what_speaks_against(run);
        case RunVerdict::kIncomplete:
            return "No basis for a verdict: something was not measured, not conclusive or not "
                   "explained.";
    }
    return "";
}

Badge headline_of(const RunResult& run) {
    // The run's own verdict counts, whatever a kernel complained of.
    const bool is_repro = run.options.command == "repro" && !run.scenarios.empty() &&
                          run.scenarios.back().id != kKernelLog;
    return is_repro && run.verdict != RunVerdict::kIncomplete
               ? badge_of(run.scenarios.front().verdict)
               : badge_of(run.verdict);
}

const char* subject_of(const std::string& evidence_class) {
    if (evidence_class == "physical") {
        return "of this hardware, driver and kernel";
    }
    if (evidence_class == "virtual") {
        return "of the software path, on virtual devices";
    }
    return "of a simulated path";
}

}  // namespace pathproof::report
