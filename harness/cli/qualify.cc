#include "harness/cli/commands.h"

namespace pathproof::cli {

void add_qualify(CLI::App&, Command&) {}

}  // namespace pathproof::cli
