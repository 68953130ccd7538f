#include "harness/cli/commands.h"

namespace pathproof::cli {

void add_inspect(CLI::App&, Command&) {}

}  // namespace pathproof::cli
