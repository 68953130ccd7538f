// The report of a run: report.json, report.html and junit.xml in one folder, and its summary for a
// terminal.
#pragma once

#include <string>

#include "dataplane/base/result.h"
#include "harness/verdict/result.h"

namespace pathproof::report {

// Creates `out_dir` and its folder evidence/, and shows that files can be written in both. To be
// called before anything else of a run, so that an unwritable folder costs no run. Files of an
// earlier report stay as they are. A path that is no folder is kBadInput, one without permission
// kNotPermitted.
Status prepare_output(const std::string& out_dir);

// Writes the three files beside the earlier ones, reads report.json back from the disk, checks it
// against the schema and compares it with what was to be written; only then each file takes the
// place of the earlier one, by rename. On an error the earlier report is untouched.
Status write_report(const verdict::RunResult& run, const std::string& out_dir);

enum class Colour { kNone, kAnsi };

// What a person wants to know at the end of a run: verdict, reasons, and per scenario the finding,
// the cause and the cure. Lines of at most 100 columns, ends with a line end.
std::string summary(const verdict::RunResult& run, Colour colour = Colour::kNone);

}  // namespace pathproof::report
