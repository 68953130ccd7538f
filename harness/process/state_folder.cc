#include "harness/process/state_folder.h"

#include <cstdlib>

namespace pathproof::process {

std::string state_folder() {
    const char* state = std::getenv("XDG_STATE_HOME");
    const char* home = std::getenv("HOME");
    const std::string base = state != nullptr && *state == '/' ? state
                             : home != nullptr && *home == '/' ? home + std::string("/.local/state")
                                                               : "/var/lib";
    return base + "/pathproof";
}

}  // namespace pathproof::process
