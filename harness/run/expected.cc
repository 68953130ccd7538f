#include "harness/run/expected.h"

#include <cstdio>

#include "dataplane/base/clock.h"
#include "dataplane/base/plural.h"

namespace pathproof::run {

Result<Expected> Expected::read(const std::string& file) {
    Expected expected;
    if (!file.empty()) {
        expected.baseline = TRY(compare::read_baseline(file));
    }
    return expected;
}

int Expected::judge(verdict::RunResult& result, int exit_code) const {
    if (!baseline) {
        return exit_code;
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
    return found.exit_code(result.verdict);
}

}  // namespace pathproof::run
