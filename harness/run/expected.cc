#include "harness/run/expected.h"

#include <cstdio>

#include "dataplane/base/clock.h"
#include "dataplane/base/plural.h"

namespace pathproof::run {
namespace {

bool is_qualified(verdict::RunVerdict verdict) {
    return verdict == verdict::RunVerdict::kQualified ||
           verdict == verdict::RunVerdict::kConditionallyQualified;
}

std::size_t count_failures(const verdict::RunResult& result) {
    std::size_t failures = 0;
    for (const verdict::ScenarioResult& scenario : result.scenarios) {
        const auto count = [&](const verdict::Cell& cell, verdict::Cell::Role role) {
            const bool counts =
                role == verdict::Cell::Role::kMatrix || role == verdict::Cell::Role::kCure;
            failures += counts && verdict::fails(cell.verdict) ? 1 : 0;
        };
        for (const verdict::Cell& cell : scenario.cells) {
            count(cell, cell.role);
        }
        for (const verdict::Cell& control : scenario.controls) {
            count(control, verdict::role_among_controls(control));
        }
    }
    return failures;
}

// --strict of a run that would end with 0.
int judge_strictly(verdict::RunResult& result) {
    const std::size_t failures = count_failures(result);
    if (failures == 0) {
        return 0;
    }
    result.verdict = verdict::RunVerdict::kNotQualified;
    result.reasons.insert(
        result.reasons.begin(),
        fmt::format("By --strict {} against it, whatever cure was shown.",
                    failures == 1 ? "1 failing cell counts"
                                  : fmt::format("{} failing cells count", failures)));
    return 1;
}

}  // namespace

Result<Expected> Expected::read(const std::string& file, bool strict) {
    Expected expected{.baseline = std::nullopt, .strict = strict};
    if (!file.empty()) {
        expected.baseline = TRY(compare::read_baseline(file));
    }
    return expected;
}

int Expected::judge(verdict::RunResult& result, int exit_code) const {
    if (!baseline) {
        return strict && exit_code == 0 ? judge_strictly(result) : exit_code;
    }
    const compare::Expectation found = compare::apply(*baseline, today_utc(), result);
    fmt::print(stderr, "{}", compare::text(found));
    result.reasons.insert(
        result.reasons.begin(),
        found.fresh.empty() && found.expired.empty()
            ? fmt::format("Each failure of this run ({}) is known to the baseline {}.",
                          found.known.size(), baseline->file)
            : fmt::format("By the baseline {}: {} known, {} not expected, {} past their date.",
                          baseline->file, plural(found.known.size(), "failure"), found.fresh.size(),
                          found.expired.size()));
    const int code = found.exit_code(result.verdict);
    if (code == 1 && is_qualified(result.verdict)) {
        result.verdict = verdict::RunVerdict::kNotQualified;
    }
    if (code == 0 && result.verdict == verdict::RunVerdict::kNotQualified) {
        result.verdict = verdict::RunVerdict::kConditionallyQualified;
    }
    return code;
}

}  // namespace pathproof::run
