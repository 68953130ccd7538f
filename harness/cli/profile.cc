#include "harness/cli/commands.h"

namespace pathproof::cli {

void add_profile(CLI::App&, Command&) {}

}  // namespace pathproof::cli
