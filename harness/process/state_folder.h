// The folder in which this user's state is kept between runs.
#pragma once

#include <string>

namespace pathproof::process {

// $XDG_STATE_HOME/pathproof; without it ~/.local/state/pathproof, or /var/lib/pathproof where there is no home. It need
// not be there.
std::string state_folder();

}  // namespace pathproof::process
