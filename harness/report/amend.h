// A report that takes the place of another one: the same results under another certificate.
#pragma once

#include <string>

#include "dataplane/base/result.h"
#include "harness/report/report.h"
#include "harness/verdict/result.h"

namespace pathproof::report {

struct AmendRequest {
    std::string folder;   // of the report that is amended; it stays as it is
    std::string out_dir;  // of the new one; another folder
    std::string reason;
    verdict::Parties parties;  // what is said otherwise; empty: as it was
};

// Writes the report anew, with its evidence, an id of its own, today's date of issue and the old report's id and
// SHA-256. kBadInput: that report has no id, its evidence is not what it says, or both folders are one.
Result<Written> amend_report(const verdict::RunResult& run, const AmendRequest& request);

}  // namespace pathproof::report
