// The cost of a cure: loads that are run with it and without it in turn, and the figures of each.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "harness/prices/cures.h"
#include "harness/scenario/scenario.h"
#include "harness/verdict/prices.h"

namespace pathproof::prices {

// A figure and its value.
using Sample = std::map<std::string, double>;
// One run with each cure, by its id, and one without (""). What came to nothing is missing.
using Round = std::map<std::string, Sample>;

struct LoadRun {
    std::vector<Round> rounds;
    std::map<std::string, std::string> lacks;  // of a figure: why it was not measured
};

struct Load {
    std::string id;
    std::string text;
    std::vector<Part> has;  // of its path
    std::vector<verdict::CostFigure> figures;
    Result<LoadRun> (*run)(scenario::Context& context, const Load& load, const Cures& cures);
    unsigned rounds = 9;  // of six or more the median has an interval

    bool takes(const Cure& cure) const {
        return std::ranges::count(has, cure.needs) != 0 && (cure.on_path() || cure.in_resolver());
    }
};

const std::vector<Load>& all_loads();

// Returns a load's costs: each figure with each cure. `lacks`: the reason why it was not run;
// empty: it was.
std::vector<verdict::Cost> costs_of(const Load& load, const Cures& cures, const LoadRun& run,
                                    const std::string& lacks);

}  // namespace pathproof::prices
