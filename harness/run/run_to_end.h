// A session from its request to its exit code.
#pragma once

#include <string>
#include <utility>

#include "harness/process/log.h"
#include "harness/run/certificate_options.h"
#include "harness/run/exit_code.h"
#include "harness/run/expected.h"
#include "harness/run/ocp_file.h"
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
    TRY(options.history.check());
    const auto expected = TRY(Expected::read(options.baseline, strict));
    auto session = TRY(std::move(asked));
    std::string bundle;
    if constexpr (requires { options.certificate; }) {
        bundle = options.certificate.bundle;
        session.parties = verdict::merged(options.certificate.parties, session.place->parties());
        TRY(check_bundle(bundle, options.out));
    }
    session.history = options.history;
    session.wait = std::chrono::seconds(options.wait_s);
    const auto ocp = options.views.ocp.empty() ? nullptr : TRY(OcpFile::open(options.views.ocp));
    session.observer = ocp;
    if constexpr (requires { options.calibrated_within_s; }) {
        session.calibrated_within_s = options.calibrated_within_s;
    }
    auto result = TRY(run_session(session));
    int code = options.views.write(result, expected.judge(result, exit_code_of(result)));
    if (ocp) {
        if (const Status written = ocp->end(result, code); !written) {
            process::log(written.error().message);
            code = 3;
        }
    }
    return publish(
        result, options.out, code, session.history,
        [&](const std::string& report) {
            if (!options.views.print(result, code)) {
                print(result, report);
            }
        },
        bundle);
}

}  // namespace pathproof::run
