// All trials of a search by load, and the bounds that follow from them for any goal: trials made
// for one goal count for the others too.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "dataplane/search/classify.h"

namespace pathproof::search {

// Steps of the load grid.
struct RelevantBounds {
    std::optional<int> lower;  // the greatest lower bound below `upper`
    std::optional<int> upper;  // the least upper bound
};

class LoadBook {
  public:
    void add(int load, const TrialRecord& trial) { trials_[load].push_back(trial); }

    std::span<const TrialRecord> at(int load) const;
    RelevantBounds bounds(const Criteria& criteria) const;
    // The greatest lower bound above the relevant upper one: more load, less loss.
    std::optional<int> inversion(const Criteria& criteria) const;

  private:
    std::map<int, std::vector<TrialRecord>> trials_;
};

}  // namespace pathproof::search
