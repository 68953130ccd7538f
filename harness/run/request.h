// Makes a run's session of its options: for the commands that ask for a run, and for `rerun`, which
// reads the options from a report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/run/session.h"
#include "harness/verdict/options.h"

namespace pathproof::run {

// Makes a session for `qualify`, `repro` or `offload check DEV`. Errors: a lab, scenario, cell,
// profile or device that is not there.
Result<SessionOptions> session_of(const verdict::RunOptions& asked, std::uint64_t seed,
                                  const std::string& out_dir);

// Reads ids from a comma-separated list; kBadInput names the scenarios there are.
Result<std::vector<std::string>> scenario_ids(const std::string& list);

}  // namespace pathproof::run
