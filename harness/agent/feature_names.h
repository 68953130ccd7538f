// The words that ethtool(8) accepts for offload features and the single features each of them
// stands for. No system call: the names of a device's features come in, positions in them go out.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dataplane/base/result.h"

namespace pathproof::agent {

// One feature of a request, as a position in the list of names it was expanded from.
struct FeatureRequest {
    enum class Origin {
        kSingle,  // asked for by its own name: refusing it is an error
        kGroup,   // one of several behind a word such as "tx": as with ethtool -K, some may stay as
                  // they are
    };
    std::size_t index = 0;
    bool on = false;
    Origin origin = Origin::kSingle;
    std::string word;  // what the user typed
    bool operator==(const FeatureRequest&) const = default;
};

// Expands single names and group words, each feature at most once; of two wishes the later one
// counts, as with ethtool -K. `names` has one entry for each feature bit, empty where the kernel
// has none. A word that is neither a feature nor a group is kNotFound, with close matches; nothing
// is expanded then.
Result<std::vector<FeatureRequest>> expand_features(
    const std::vector<std::string>& names, const std::vector<std::pair<std::string, bool>>& wanted);

}  // namespace pathproof::agent
