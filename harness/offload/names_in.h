// Names among others, and by how often each was seen.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace pathproof::offload {

inline bool has(const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
}

// Most frequent first.
inline std::vector<std::string> by_frequency(const std::map<std::string, std::uint64_t>& counts) {
    std::vector<std::string> names;
    for (const auto& [name, count] : counts) {
        names.push_back(name);
    }
    std::ranges::stable_sort(names, std::greater<>(),
                             [&](const std::string& name) { return counts.at(name); });
    return names;
}

}  // namespace pathproof::offload
