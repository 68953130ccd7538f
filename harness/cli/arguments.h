// The reading of a command line, the same for every command and program.
#pragma once

#include <optional>

#include "harness/cli/commands.h"

namespace pathproof::cli {

// Reads the command line into the options of `app`, on which all commands were declared, and runs
// the one that was chosen. Refuses whatever the command: empty arguments (an unset variable in a
// script would otherwise mean "the default"), control characters, texts that nobody types, whole
// numbers with a sign, octal or hexadecimal, and numbers that are not finite. Gives the exit code:
// 0 for help, 2 for what cannot be read, with a sentence on stderr.
int run_chosen(CLI::App& app, Command& chosen, int argc, char** argv);

// The first half of it: nothing is run. No value: the command line is sound. Else the exit code, as
// above; what is wrong with it was said.
std::optional<int> read_arguments(CLI::App& app, int argc, const char* const* argv);

}  // namespace pathproof::cli
