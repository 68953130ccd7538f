// The run as the Linux netdev CI (NIPA) reads the results of an executor.
#pragma once

#include <string>

#include "harness/verdict/result.h"

namespace pathproof::report {

struct NetdevNames {
    std::string executor = "pathproof";
    std::string branch;  // that was tested; empty: the release of the kernel
    std::string link;    // where the folder of the report can be read; empty: not known
};

// The results-*.json of an executor (contest/remote/lib/fetcher.py of NIPA): a test for each
// scenario with its cells as subtests, and one for the verdict of the run. NIPA knows pass, fail and
// skip: an error is a fail. `retry` of what failed and was repeated: pass if it passed in another
// repetition. Says what junit_xml says of a run that ends with `exit_code`.
std::string netdev_json(const verdict::RunResult& run, int exit_code, const NetdevNames& names);

}  // namespace pathproof::report
