// Whether a list of a profile or erratum names something.
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/contains.h"

namespace pathproof::profile {

// Nothing, which is what stands where a device does not tell, is in no list.
inline bool lists(const std::vector<std::string>& all, const std::string& one) {
    return !one.empty() && contains(all, one);
}

}  // namespace pathproof::profile
