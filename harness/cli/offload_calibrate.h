// pathproof offload calibrate: which defects the instrument would see.
#pragma once

#include "harness/cli/commands.h"

namespace pathproof::cli {

void add_calibrate(CLI::App& offload, Command& chosen);

}  // namespace pathproof::cli
