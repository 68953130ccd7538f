#include "harness/cli/commands.h"

namespace pathproof::cli {

void add_generate(CLI::App&, Command&) {}

}  // namespace pathproof::cli
