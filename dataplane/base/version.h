// The version of this build.
#pragma once

namespace pathproof {

// Returns "0.1.0+g208c8db0": the release and the commit it was built from; "0.1.0" where the sources were
// built outside of a git clone.
const char* version();

}  // namespace pathproof
