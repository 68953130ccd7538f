// How a run is told beside its report: --json, --ktap, --summary-md, --netdev-json.
#pragma once

#include <string>

#include "dataplane/base/result.h"
#include "harness/report/netdev.h"
#include "harness/verdict/result.h"

namespace CLI {
class App;
}

namespace pathproof::cli {

// A file is "-" for standard output, in place of the summary, and empty for none.
struct Views {
    bool json = false;  // on standard output, as one document
    bool ktap = false;  // on standard output
    std::string summary_md;
    std::string netdev_json;
    report::NetdevNames netdev;

    // kBadInput: standard output was to be given more than one of them.
    Status check() const;
    // Writes the files. Gives the exit code: 3 where one could not be written.
    int write(const verdict::RunResult& result, int exit_code) const;
    // Whether standard output was given one of them.
    bool print(const verdict::RunResult& result, int exit_code) const;
};

// On standard output, where no view takes it: in colours on a terminal.
void print_summary(const verdict::RunResult& result);

// All but --json, which not every command has.
void add_view_options(CLI::App& command, Views& views);

}  // namespace pathproof::cli
