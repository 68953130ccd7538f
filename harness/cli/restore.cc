#include "harness/cli/commands.h"

namespace pathproof::cli {

void add_restore(CLI::App&, Command&) {}

}  // namespace pathproof::cli
