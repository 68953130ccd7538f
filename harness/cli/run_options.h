// Options that commands which run scenarios share.
#pragma once

#include <cstdint>
#include <string>

#include "harness/run/certificate_options.h"
#include "harness/run/history.h"
#include "harness/run/views.h"
#include "harness/verdict/options.h"

namespace CLI {
class App;
}

namespace pathproof::cli {

// `lab`, `asked`, `file` and `views` must outlive the command.

// --lab. Comes before add_run_options(), which adds the options of single labs.
void add_lab_option(CLI::App& command, verdict::LabRequest& lab);
// --repeat
void add_repeat_option(CLI::App& command, verdict::RunOptions& asked);
// The options that `qualify` and `repro` share.
void add_run_options(CLI::App& command, verdict::RunOptions& asked);
// --wait SECONDS
void add_wait_option(CLI::App& command, std::uint32_t& seconds);
// --history and --no-history
void add_history_options(CLI::App& command, run::HistoryChoice& history);
// --baseline
void add_baseline_option(CLI::App& command, std::string& file);
// --laboratory, --operator, ... of a report, and --bundle.
void add_party_options(CLI::App& command, verdict::Parties& parties);
void add_certificate_options(CLI::App& command, run::CertificateOptions& options);
// --ktap, --summary-md, --netdev-json and --ocp; --json is not in every command.
void add_view_options(CLI::App& command, run::Views& views);

}  // namespace pathproof::cli
