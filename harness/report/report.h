// The report of a run: report.json, report.html and junit.xml in one folder, and its summary for a
// terminal.
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/verdict/result.h"

namespace pathproof::report {

// Returns this process's folder in `out_dir`: a run writes its evidence (in evidence/) there until
// its report replaces the one in `out_dir`.
std::string unfinished_folder(const std::string& out_dir);

// Creates `out_dir` and the folder above with its evidence/. To be called before anything else of
// a run, so that an unwritable folder costs no run. An earlier report stays as it is. kBadInput: a
// path that is no folder, symbolic links, an evidence/ that is of no report; kNotPermitted.
Status prepare_output(const std::string& out_dir);
// Takes it back: nothing was measured.
void discard_output(const std::string& out_dir);

struct Written {
    std::string folder;             // that now has the report
    std::vector<std::string> lost;  // evidence that the run lists and that is not there, or empty
};

// Writes the report of a run that ends with `exit_code`, without the evidence that is lost, reads
// report.json back from the disk, checks it against the schema and compares it with what was to be
// written; only then report and evidence take the place of the earlier ones. An INCOMPLETE run
// never takes that of a complete one: it goes to incomplete/ in `out_dir`. On an error the earlier
// report is untouched and nothing of this one is left.
Result<Written> write_report(const verdict::RunResult& run, const std::string& out_dir,
                             int exit_code);

enum class Colour { kNone, kAnsi };

// Summarizes the run for a person: verdict, reasons, and per scenario the finding, the cause and
// the cure. Lines of at most 100 columns, ends with a line end.
std::string summary(const verdict::RunResult& run, Colour colour = Colour::kNone);

}  // namespace pathproof::report
