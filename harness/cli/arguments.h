// What is wrong with a command line whatever the command: told in one place for all of them.
#pragma once

#include <string>

#include "dataplane/base/result.h"
#include "harness/cli/commands.h"

namespace pathproof::cli {

// Before it is read: empty arguments (an unset variable in a script would otherwise mean "the
// default"), control characters and texts that nobody types.
Status check_arguments(int argc, const char* const* argv);

// Adds to each option of `app` and of the commands below it that a whole number is one (no sign,
// no octal, no hexadecimal) and that any other is finite.
void check_numbers(CLI::App& app);

// Of the words that should be commands, the first that is none, with those there are: "unknown
// command 'inspect foo'; there are: dump, watch"; empty if each is one.
std::string unknown_command(const CLI::App& app, int argc, const char* const* argv);

// Reads the command line into the options of `app`, on which all commands were declared, and runs
// the one that was chosen. Gives the exit code: 0 for help, 2 for what cannot be read, with a
// sentence on stderr.
int run_chosen(CLI::App& app, Command& chosen, int argc, char** argv);

}  // namespace pathproof::cli
