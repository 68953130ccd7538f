// How a run is told beside its report: --ktap, --summary-md, --netdev-json.
#pragma once

#include <string>

#include "harness/report/netdev.h"
#include "harness/verdict/result.h"

namespace CLI {
class App;
}

namespace pathproof::cli {

// A file is "-" for standard output, in place of the summary, and empty for none.
struct Views {
    bool ktap = false;  // on standard output
    std::string summary_md;
    std::string netdev_json;
    report::NetdevNames netdev;

    // Writes the files. Gives the exit code: 3 where one could not be written.
    int write(const verdict::RunResult& result, int exit_code) const;
    // Whether standard output was given one of them.
    bool print(const verdict::RunResult& result, int exit_code) const;
};

// On standard output, where no view takes it: the whole result as one JSON document; or its summary,
// in colours on a terminal.
void print_document(const verdict::RunResult& result);
void print_summary(const verdict::RunResult& result);

void add_view_options(CLI::App& command, Views& views);

}  // namespace pathproof::cli
