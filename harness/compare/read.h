// Reports as `pathproof compare` and baselines take them: by file or by folder.
#pragma once

#include <string>

#include "dataplane/base/result.h"
#include "harness/verdict/result.h"

namespace pathproof::compare {

struct Report {
    std::string file;  // its report.json
    verdict::RunResult run;
};

// `path`: a report.json, or a folder with one. kNotFound or kBadInput name the file and what is
// wrong with it: none there, no regular file, too large, damaged, of a newer version.
Result<Report> read_report(const std::string& path);

}  // namespace pathproof::compare
