#include "dataplane/search/load_book.h"

namespace pathproof::search {

std::span<const TrialRecord> LoadBook::at(int load) const {
    const auto found = trials_.find(load);
    return found == trials_.end() ? std::span<const TrialRecord>() : found->second;
}

RelevantBounds LoadBook::bounds(const Criteria& criteria) const {
    RelevantBounds bounds;
    for (const auto& [load, trials] : trials_) {
        const LoadClass load_class = classify(criteria, sums(criteria, trials));
        if (load_class == LoadClass::kUpperBound) {
            bounds.upper = load;
            return bounds;
        }
        if (load_class == LoadClass::kLowerBound) {
            bounds.lower = load;
        }
    }
    return bounds;
}

std::optional<int> LoadBook::inversion(const Criteria& criteria) const {
    const std::optional<int> upper = bounds(criteria).upper;
    if (!upper) {
        return {};
    }
    for (auto at = trials_.rbegin(); at != trials_.rend() && at->first > *upper; ++at) {
        if (classify(criteria, sums(criteria, at->second)) == LoadClass::kLowerBound) {
            return at->first;
        }
    }
    return {};
}

}  // namespace pathproof::search
