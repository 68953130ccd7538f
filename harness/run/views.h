// The forms of a result beside its report: --json, --ktap, --summary-md, --netdev-json, --ocp.
#pragma once

#include <string>

#include "dataplane/base/result.h"
#include "harness/report/netdev.h"
#include "harness/verdict/result.h"

namespace pathproof::run {

// A file is "-" for standard output, in place of the summary, and empty for none.
struct Views {
    bool json = false;  // on standard output, as one document
    bool ktap = false;  // on standard output
    std::string summary_md;
    std::string netdev_json;
    std::string ocp;
    report::NetdevNames netdev;

    // kBadInput: standard output was to be given more than one of them.
    Status check() const;
    // Writes the files. Gives the exit code: 3 where one could not be written.
    int write(const verdict::RunResult& result, int exit_code) const;
    // Prints the view that takes standard output; false: none does.
    bool print(const verdict::RunResult& result, int exit_code) const;
};

// Prints the summary on standard output, where no view takes it: in colours on a terminal.
void print_summary(const verdict::RunResult& result);

}  // namespace pathproof::run
