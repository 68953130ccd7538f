// Changes from one run to another: cells, differences between the machines, and figures. Pure: two
// results in, a comparison out.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/verdict/prices.h"
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
    std::string where;  // "Kernel", "DUT device vx", "Run"
    std::string what;   // "release", "seed"
    std::string before;
    std::string now;
};

// The shift of a figure's trials against those of the other run (shift.h).
struct Shift {
    double p = 1;
    double adjusted_p = 1;  // for the number of figures that are tested together
    double median = 0;      // of the trials of this run, in the unit of the figure
    double difference = 0;  // now - before, likewise
    std::optional<verdict::Interval> interval = std::nullopt;  // 95 %
    double noise_floor = 0;  // what runs of one system differ by; 0: not known
    // The smallest difference that would have been found with 95 % probability.
    std::optional<double> detectable = std::nullopt;
};

// A figure of cells of both runs.
struct Figure {
    std::string cell;         // "dns-race/same-tuple.two-cpus"
    std::string name, label;  // "raced_share", "pairs that raced"
    std::string unit = {};
    std::string before = {};  // "98.4 % [98.1-98.7]", "98.4 % [8 trials]"
    std::string now = {};
    std::optional<Shift> shift = std::nullopt;  // nothing: judged by its intervals
};

// The noise floor, by "CELL/FIGURE", in the figures' units: between runs of one and the same system the largest difference of all
// pairs of such runs.
struct Noise {
    std::map<std::string, double> floors = {};
    std::size_t pairs = 0;
};
Noise noise_of(const std::vector<const verdict::RunResult*>& runs);

struct Comparison {
    std::vector<Changed> changed;
    // Differences between the machines or the commands: candidates for the cause of a change, the
    // likeliest first.
    std::vector<Difference> differences;
    // Figures that changed: their trials differ, or, where there are none, their intervals do not
    // touch.
    std::vector<Figure> figures;
    std::vector<Figure> unchanged;  // those whose trials were tested, and which did not change
    std::size_t same_cells = 0;
    std::size_t failing_in_both = 0;   // of them, by the same cause
    std::size_t tested = 0;            // figures for whose number p values are adjusted
    std::size_t too_few_trials = 0;    // figures that no outcome could have made significant
    std::size_t within_noise = 0;      // figures that were judged and did not change
    std::size_t without_interval = 0;  // figures that differ and cannot be judged

    std::size_t count(Change change) const;
    bool worse() const;  // one of the first three that is not known
};

// Returns why the two have no common ground: other labs, other classes of evidence, no scenario in
// common. Empty: they can be compared.
std::string not_comparable(const verdict::RunResult& before, const verdict::RunResult& now);

// Lists the differences between the machines and the commands of two runs, the likeliest first.
std::vector<Difference> differences(const verdict::RunResult& before,
                                    const verdict::RunResult& now);

// An environment without what differs between any two runs on one machine (free memory, entries in use), and without the names that a
// run makes up.
std::vector<verdict::FactGroup> lasting_facts(const std::vector<verdict::FactGroup>& environment);

// `noise`: of runs of one and the same system; a figure changed only if it differs by more.
Comparison compare(const verdict::RunResult& before, const verdict::RunResult& now,
                   const Noise& noise = {});

// 0: no worse, 1: worse, 3: this run could not come to a verdict where the other had one.
int exit_code(const Comparison& comparison);

}  // namespace pathproof::compare
