// One offload feature turned on or off to see what the device makes of it. What a device refuses,
// changes along or does not do is a result, not an error.
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/agent/offload_features.h"

namespace pathproof::agent {

// Asks the device for it and reads all features before and after. A feature that is [fixed] is not
// asked for. Errors: no such device or feature, no permission.
Result<FeatureTrial> try_feature(const std::string& device, const std::string& name, bool on);

// Features whose active state differs, in the order of `before`; `asked` is false in all. Empty:
// the flags are exactly as they were.
std::vector<FeatureChange> differences(const std::vector<Feature>& before,
                                       const std::vector<Feature>& after);

}  // namespace pathproof::agent
