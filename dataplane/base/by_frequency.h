// Names by how often each was seen.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace pathproof {

// Most frequent first; of those seen as often, in the order of the names.
inline std::vector<std::string> by_frequency(const std::map<std::string, std::uint64_t>& counts) {
    std::vector<std::string> names;
    for (const auto& [name, count] : counts) {
        names.push_back(name);
    }
    std::ranges::stable_sort(names, std::greater<>(),
                             [&](const std::string& name) { return counts.at(name); });
    return names;
}

}  // namespace pathproof
