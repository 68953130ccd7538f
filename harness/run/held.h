// Acceptance limits and clauses of a plan, against which a run's figures and cells are held.
#pragma once

#include <optional>
#include <vector>

#include "harness/acceptance/requirements.h"
#include "harness/profile/profile.h"
#include "harness/scenario/scenario.h"
#include "harness/verdict/options.h"
#include "harness/verdict/result.h"

namespace pathproof::run {

struct Held {
    std::optional<acceptance::Limits> limits;
    std::optional<acceptance::Requirements> requirements;

    // Reads the files that were asked for; without a file the limits are the profile's, if it has any. Errors
    // (kBadInput): a file that is wrong, or names what there is not.
    static Result<Held> read(const verdict::RunOptions& asked,
                             const std::optional<profile::Profile>& profile);
    // Adds a result for each to those of a run; again in the place of an earlier one.
    void judge(std::vector<verdict::ScenarioResult>& scenarios) const;
};

}  // namespace pathproof::run
