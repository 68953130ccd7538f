// Names of network devices in the namespace of the calling thread.
#pragma once

#include <string>

#include "dataplane/base/result.h"

namespace pathproof::agent {

// Fails with kNotFound, and close matches, when there is no device of this name.
Status require_interface(const std::string& name);

// "prog 12 (xdp_drop)", as `ip link` shows it; empty: none is attached.
Result<std::string> read_xdp_program(const std::string& name);

}  // namespace pathproof::agent
