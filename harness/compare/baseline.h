// A baseline: the failures that are expected of a system, each with its reason. A run that shows
// nothing else is no news.
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/compare/compare.h"
#include "harness/verdict/result.h"

namespace pathproof::compare {

// One [[known]] of the file. Patterns as of fnmatch(3); an empty one fits all.
struct Known {
    std::string id;  // "vxlan-checksum/vx-tx-on.*/stale-port"; without a cause: whatever the cause
    std::string reason;
    std::string link;
    std::string approver;  // who accepts the failure; empty: it is known, and nobody does
    std::string verdict;   // "fail", "unstable"; empty: either
    std::string until;     // "2027-01-31", the last day; empty: for good
    std::string kernel;    // of /proc/sys/kernel/osrelease
    std::string driver;    // of a device under test
    std::string nic;       // its bus address or firmware
    int line = 0;
};

struct Baseline {
    std::string file;
    std::vector<Known> known;
};

// kBadInput with file, line and column; kNotFound.
Result<Baseline> read_baseline(const std::string& file);

// Lists the faults of a baseline beside its grammar: entries twice, past their date, of a scenario
// that does not exist (`scenarios`: those that exist). One sentence each.
std::vector<std::string> lint(const Baseline& baseline, const std::string& today,
                              const std::vector<std::string>& scenarios);

// Verdict of a baseline on a run. Sentences; ids are those of cells with their cause.
struct Expectation {
    std::vector<std::string> known;      // failures that are expected
    std::vector<std::string> fresh;      // failures that are not
    std::vector<std::string> gone;       // entries whose cells were run, and none does so
    std::vector<std::string> expired;    // entries past their date
    std::vector<std::string> unmatched;  // entries that no cell of this run fits

    // 3 for an INCOMPLETE run; 1 for a failure that is not expected or an entry past its date.
    int exit_code(verdict::RunVerdict verdict) const;
};

// Marks the cells whose failure is known (verdict::Cell::known). `today`: "2026-11-23".
Expectation apply(const Baseline& baseline, const std::string& today, verdict::RunResult& run);
// Applies a baseline to what changed: a new failure that is known no longer makes the run worse.
void apply(const Baseline& baseline, const std::string& today, const verdict::RunResult& now,
           Comparison& comparison);

// For people: what is expected, what is not, what is over. Ends with a line end.
std::string text(const Expectation& expectation);

// A baseline that expects all failures of a run, as TOML.
std::string baseline_of(const verdict::RunResult& run);

}  // namespace pathproof::compare
