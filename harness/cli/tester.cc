#include "harness/cli/commands.h"

namespace pathproof::cli {

void add_tester(CLI::App&, Command&) {}

}  // namespace pathproof::cli
