#include "harness/cli/commands.h"

namespace pathproof::cli {

void add_respond(CLI::App&, Command&) {}

}  // namespace pathproof::cli
