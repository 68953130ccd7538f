// Look-up in a profile's or an erratum's lists.
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/contains.h"

namespace pathproof::profile {

// Returns whether the list names it. No list names the empty text, which means that the device does
// not tell.
inline bool lists(const std::vector<std::string>& all, const std::string& one) {
    return !one.empty() && contains(all, one);
}

}  // namespace pathproof::profile
