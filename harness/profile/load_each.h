// The profiles of a folder of which some may be damaged.
#pragma once

#include <string>
#include <vector>

#include "harness/profile/profile.h"

namespace pathproof::profile {

// As load_all, but what is wrong with those that cannot be read goes to `damaged`, and takes
// nothing from the others.
Result<std::vector<Profile>> load_each(const std::string& directory, std::vector<Error>& damaged);

}  // namespace pathproof::profile
