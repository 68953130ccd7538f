// From what a run is asked to do to its session: for the commands that ask it, and for `rerun`,
// which reads it from a report.
#pragma once

#include "harness/cli/baseline.h"
#include "harness/cli/session.h"
#include "harness/verdict/options.h"

namespace CLI {
class App;
}

namespace pathproof::cli {

// Of `qualify`, `repro` and `offload check DEV`. Errors: a lab, scenario, cell, profile or device
// that is not there.
Result<SessionOptions> session_of(const verdict::RunOptions& asked, std::uint64_t seed,
                                  const std::string& out_dir);

// By the rules of the command that asked for it.
int exit_code_of(const verdict::RunResult& result);

// Ids from a comma-separated list; kBadInput names those there are.
Result<std::vector<std::string>> scenario_ids(const std::string& list);

void add_repeat_option(CLI::App& command, verdict::RunOptions& asked);
// What `qualify` and `repro` share; `asked` must outlive the command.
void add_run_options(CLI::App& command, verdict::RunOptions& asked);

// Runs a session to its end, for a command with --out, --baseline and views. `print` tells of the
// result where no view takes standard output.
template <typename Options, typename Print>
Result<int> run_to_end(Result<SessionOptions> asked, const Options& options, const Print& print) {
    TRY(options.views.check());
    // What is wrong with a file is said before what is wrong with a device.
    const auto expected = TRY(Expected::read(options.baseline));
    const auto session = TRY(std::move(asked));
    auto result = TRY(run_session(session));
    const int code = options.views.write(result, expected.judge(result, exit_code_of(result)));
    return conclude(result, options.out, code, [&](const std::string& report) {
        if (!options.views.print(result, code)) {
            print(result, report);
        }
    });
}

}  // namespace pathproof::cli
