// Random names of reports.
#pragma once

#include <string>

namespace pathproof::process {

// A random UUID (RFC 9562, version 4), as the kernel makes it; empty where /proc has none.
std::string new_uuid();

}  // namespace pathproof::process
