// Whether a name is among others.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace pathproof::offload {

inline bool has(const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
}

}  // namespace pathproof::offload
