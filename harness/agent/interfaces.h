// Names of network devices in the namespace of the calling thread.
#pragma once

#include <string>

#include "dataplane/base/result.h"

namespace pathproof::agent {

// Fails with kNotFound, and close matches, when there is no device of this name.
Status require_interface(const std::string& name);

}  // namespace pathproof::agent
