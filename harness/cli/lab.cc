#include "harness/cli/commands.h"

namespace pathproof::cli {

void add_lab(CLI::App&, Command&) {}

}  // namespace pathproof::cli
