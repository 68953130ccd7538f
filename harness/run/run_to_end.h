// A session from its request to its exit code.
#pragma once

#include <string>
#include <utility>

#include "harness/run/exit_code.h"
#include "harness/run/expected.h"
#include "harness/run/publish.h"
#include "harness/run/session.h"

namespace pathproof::run {

// Runs a session for a command with --out, --baseline and views. `print` shows the result where no
// view takes standard output.
template <typename Options, typename Print>
Result<int> run_to_end(Result<SessionOptions> asked, const Options& options, const Print& print) {
    TRY(options.views.check());
    // An error in a file is reported before one in a device.
    bool strict = false;
    if constexpr (requires { options.strict; }) {
        strict = options.strict;
    }
    const auto expected = TRY(Expected::read(options.baseline, strict));
    auto session = TRY(std::move(asked));
    if constexpr (requires { options.parties; }) {
        session.parties = options.parties;
    }
    session.wait = std::chrono::seconds(options.wait_s);
    auto result = TRY(run_session(session));
    const int code = options.views.write(result, expected.judge(result, exit_code_of(result)));
    return publish(result, options.out, code, [&](const std::string& report) {
        if (!options.views.print(result, code)) {
            print(result, report);
        }
    });
}

}  // namespace pathproof::run
