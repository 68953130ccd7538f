#include "harness/cli/commands.h"

namespace pathproof::cli {

void add_offload(CLI::App&, Command&) {}

}  // namespace pathproof::cli
