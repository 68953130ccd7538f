#include "harness/cli/commands.h"

namespace pathproof::cli {

void add_wire(CLI::App&, Command&) {}

}  // namespace pathproof::cli
