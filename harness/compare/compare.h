// What changed from one run to another: cells, what differs between the machines, and figures.
// Pure: two results in, a comparison out.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/verdict/result.h"

namespace pathproof::compare {

// In the order of what matters, which is that of the list.
enum class Change {
    kNewFailure,    // fails now and did not before
    kChangedCause,  // fails in both, by another cause
    kUnstable,      // passed before, now fails in some repetitions
    kFailureGone,   // failed before, passes now
    kFailsLess,     // failed before, now in some repetitions only
    kAppeared,      // has a verdict, no failure, that it had not before
    kDisappeared,   // had a verdict and is not in this run, or was skipped
    // Had a verdict; this run could not come to one. Or it was unstable and now was run once, which
    // tells nothing of that.
    kNotComparable,
};

const char* name(Change change);  // "new failure", "changed cause", ...
// It makes a run worse than the one before.
bool is_worse(Change change);

// A cell, or a scenario as a whole, that is not as it was.
struct Changed {
    Change change = Change::kNewFailure;
    std::string id;      // "dns-race/same-tuple.two-cpus"; of a scenario "dns-race"
    std::string before;  // "PASS", "FAIL stale-port", "not run"
    std::string now;
    std::string reason;  // the sentence of the run that speaks of it: of this one, if it has any
    std::string known;   // why it is expected, as a baseline says; empty: it is not
};

// Something that is not the same in both runs.
struct Difference {
    std::string where;  // "Kernel", "DUT device vx", "Run"; of a figure the id of its cell
    std::string what;   // "release", "pairs that raced"
    std::string before;
    std::string now;
};

struct Comparison {
    std::vector<Changed> changed;
    // Of the machines or the command: candidates for what changed, the likeliest first.
    std::vector<Difference> differences;
    std::vector<Difference> figures;  // of cells of both runs whose intervals do not touch
    std::size_t same_cells = 0;
    std::size_t failing_in_both = 0;   // of them, by the same cause
    std::size_t within_noise = 0;      // figures with intervals that touch
    std::size_t without_interval = 0;  // figures that differ and cannot be judged

    std::size_t count(Change change) const;
    bool worse() const;  // one of the first three that is not known
};

// Why the two have no common ground: other labs, other classes of evidence, no scenario in common.
// Empty: they can be compared.
std::string not_comparable(const verdict::RunResult& before, const verdict::RunResult& now);

// What differs between the machines and the commands of two runs, the likeliest first.
std::vector<Difference> differences(const verdict::RunResult& before,
                                    const verdict::RunResult& now);

Comparison compare(const verdict::RunResult& before, const verdict::RunResult& now);

// 0: no worse, 1: worse, 3: this run could not come to a verdict where the other had one.
int exit_code(const Comparison& comparison);

}  // namespace pathproof::compare
