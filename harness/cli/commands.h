// The commands of the pathproof binary: one file each. `add_x` declares the command's options on
// `app`; when it is the one that was typed, parsing sets `chosen` to the function that runs it and
// returns the exit code, or what went wrong, which run_chosen() prints.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>

#include "dataplane/base/result.h"

namespace pathproof::cli {

using Command = std::function<Result<int>()>;

// Returns the options that a command's line fills in; they are kept until `run` has run with them.
template <typename Options>
std::shared_ptr<Options> options_for(CLI::App& command, Command& chosen,
                                     Result<int> (*run)(const Options&)) {
    const auto options = std::make_shared<Options>();
    command.callback(
        [&chosen, options, run] { chosen = [options, run] { return run(*options); }; });
    return options;
}

void add_qualify(CLI::App& app, Command& chosen);
void add_repro(CLI::App& app, Command& chosen);
void add_generate(CLI::App& app, Command& chosen);
void add_respond(CLI::App& app, Command& chosen);
void add_wire(CLI::App& app, Command& chosen);
void add_search(CLI::App& app, Command& chosen);
void add_verify(CLI::App& app, Command& chosen);
void add_inspect(CLI::App& app, Command& chosen);
void add_offload(CLI::App& app, Command& chosen);
void add_profile(CLI::App& app, Command& chosen);
void add_lab(CLI::App& app, Command& chosen);
void add_baseline(CLI::App& app, Command& chosen);
void add_history(CLI::App& app, Command& chosen);
void add_compare(CLI::App& app, Command& chosen);
void add_report(CLI::App& app, Command& chosen);
void add_rerun(CLI::App& app, Command& chosen);
void add_restore(CLI::App& app, Command& chosen);
void add_guest(CLI::App& app, Command& chosen);
void add_k8s(CLI::App& app, Command& chosen);
void add_calibrate(CLI::App& offload, Command& chosen);  // of `offload`
void add_agent(CLI::App& app, Command& chosen);          // started by us inside a DUT
void add_tester(CLI::App& app, Command& chosen);         // started by us in the tester's namespace

// All of them, of which one must be typed, in the order of the help; and --version.
void add_commands(CLI::App& app, Command& chosen);

// Logs the error's sentence and gives the exit code of the contract: 2 for input that is wrong,
// refused or missing (nothing was changed), 3 for a run that could not be completed. For those that
// go on after it: a command hands its error on to run_chosen().
int complain(const Error& error);

}  // namespace pathproof::cli
