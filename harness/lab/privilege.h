// The privileges that building labs takes.
#pragma once

#include <string>

#include "dataplane/base/result.h"

namespace pathproof::lab {

// kNotPermitted, in a sentence that says what is missing and what works without it, unless the
// caller may make network namespaces and change devices in them (CAP_SYS_ADMIN and CAP_NET_ADMIN).
// Nothing is tried or changed. `what` begins the sentence: "'pathproof lab up'".
Status needs_root(const std::string& what);

}  // namespace pathproof::lab
