#include "harness/process/state_folder.h"

#include <cstdlib>

namespace pathproof::process {

std::string state_folder() {
    const char* state = std::getenv("XDG_STATE_HOME");
    if (state != nullptr && *state == '/') {
        return state + std::string("/pathproof");
    }
    const char* home = std::getenv("HOME");
    if (home != nullptr && *home == '/') {
        return home + std::string("/.local/state/pathproof");
    }
    return "/var/lib/pathproof";
}

}  // namespace pathproof::process
