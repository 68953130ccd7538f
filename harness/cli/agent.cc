#include "harness/cli/commands.h"

namespace pathproof::cli {

void add_agent(CLI::App&, Command&) {}

}  // namespace pathproof::cli
