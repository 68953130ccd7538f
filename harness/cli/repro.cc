#include "harness/cli/commands.h"

namespace pathproof::cli {

void add_repro(CLI::App&, Command&) {}

}  // namespace pathproof::cli
