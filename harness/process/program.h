// Running another program (ip, iptables-restore, ...) to its end and keeping what it said.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/process/children.h"

namespace pathproof::process {

struct ProgramOptions {
    std::string netns;  // named network namespace to run in; empty: the caller's
    std::string input;  // given to the program on its standard input
    std::chrono::milliseconds timeout{30'000};
    Starts starts = Starts::kWhileOpen;
};

struct ProgramOutput {
    int exit_status = 0;  // 128 + signal number when a signal ended it
    std::string out;
    std::string err;
};

// Runs argv[0] (found through PATH and the sbin folders). An error means that it could not be
// started, did not end in time or said more than 256 MiB (it is killed then); a program that ran and
// failed is a value with its exit status.
Result<ProgramOutput> run_program(const std::vector<std::string>& argv,
                                  const ProgramOptions& options = {});

// As above, but a non-zero exit status is an error too, with the command and what it wrote to
// stderr.
Result<std::string> run_checked(const std::vector<std::string>& argv,
                                const ProgramOptions& options = {});

}  // namespace pathproof::process
