// How a run is told beside its report: --ktap, --summary-md.
#pragma once

#include <string>

#include "harness/verdict/result.h"

namespace CLI {
class App;
}

namespace pathproof::cli {

struct Views {
    bool ktap = false;       // on standard output, in place of the summary
    std::string summary_md;  // a file, "-" for standard output; empty: none

    // Writes the file. Gives the exit code: 3 where it could not be written.
    int write(const verdict::RunResult& result, int exit_code) const;
    // Whether standard output was given one of them.
    bool print(const verdict::RunResult& result, int exit_code) const;
};

void add_view_options(CLI::App& command, Views& views);

}  // namespace pathproof::cli
