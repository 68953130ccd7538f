// Results of a run as plain values: the only thing that the report reads.
// cell -> scenario -> run. Each printed sentence is backed by a field here.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "harness/verdict/certificate.h"
#include "harness/verdict/options.h"
#include "harness/verdict/truth_table.h"
#include "harness/verdict/value.h"

namespace pathproof::verdict {

// Unstable: run several times, it failed in some of them and passed in the others.
enum class CellVerdict { kPass, kFail, kError, kSkip, kInconclusive, kUnstable };
// A scenario that sets up a known failure reproduces it (users are harmed: a packet lost, late,
// misdelivered or wrong), sees it exposed (it happens here and harms nobody) or does not; one that
// looks for whatever is wrong (an offload truth table) finds a defect or does not; one that measures, or
// holds figures against limits, says no more than that it did.
enum class ScenarioVerdict {
    kReproduced,
    kExposed,
    kNotReproduced,
    kDefectFound,
    kNoDefectFound,
    kMeasured,
    kInconclusive,
    kNotRun  // its lab lacks what it takes; the headline says what
};
enum class RunVerdict { kQualified, kConditionallyQualified, kNotQualified, kIncomplete };

// "PASS", "EXPOSED", "NOT REPRODUCED", "NO DEFECT FOUND", "CONDITIONALLY QUALIFIED": as reports
// and scripts read them.
const char* name(CellVerdict verdict);
const char* name(ScenarioVerdict verdict);
const char* name(RunVerdict verdict);

// Returns whether the cell failed, always or at times.
bool fails(CellVerdict verdict);
// Returns whether something is wrong with what the scenario looked at: reproduced, or a defect
// found. Not: exposed.
bool is_failure(ScenarioVerdict verdict);
// Returns whether the verdict is that of a scenario that looks for defects.
bool is_truth(ScenarioVerdict verdict);

// A 95 % interval of a fraction (Wilson), or an upper bound for zero counts (rule of three).
struct Interval {
    double low = 0;
    double high = 0;
};

// One measured figure. A null value was not measured; `note` then says why. A boolean value is a
// probe: true means that it got through, and the report shows it as a mark inside the cell; `note`
// is its outcome in words.
struct Measure {
    std::string name;   // "tcp_connect_ms", "raced_share": what scripts read
    std::string label;  // "pairs that raced": what people read
    Value value;
    std::string unit;                  // "%", "ms", "packets", "" for words
    std::optional<Interval> interval;  // in the unit of the value (see share() in interval.h)
    std::string note;
    // Values of the single trials behind it, in the order of their measurement and in its unit: repetitions of
    // its cell, or rounds. Empty: it was measured once. `compare` tests differences with them.
    std::vector<double> trials = {};
};

struct EvidenceFile {
    std::string path;         // relative to the output directory
    std::string description;  // what is in it and which program opens it
    std::string sha256 =
        {};  // of the file, as hexadecimal digits; empty until it lies in its report
};

// Outcomes of a cell that was run more than once.
struct Runs {
    std::uint64_t n = 0;       // repetitions in which it passed or failed
    std::uint64_t failed = 0;  // of them
    std::size_t kept = 1;      // the repetition that its reason, figures and evidence are of
};

// One point of a matrix: what was set, what was measured, what it means.
struct Cell {
    // Purpose of the cell, which decides the meaning of its verdict.
    enum class Role {
        kMatrix,   // a point of the matrix: FAIL speaks against the system
        kControl,  // lacks the cause: FAIL means that the measurement proves nothing
        kCure,     // has the cause and the cure: FAIL means that the cure was not shown
        // Shows the tool itself (its fault hook, a wire that stands for a broken NIC), or what a
        // cure breaks: PASS means that it shows what it must, whatever that is. Never a fault of
        // the system.
        kDemonstration,
    };
    std::string id;  // "vx-on.udpcsum.masquerade.eth0-off"
    std::vector<std::pair<std::string, std::string>> toggles;  // axis -> value, in display order
    Role role = Role::kMatrix;  // a cell among the controls is one unless it says otherwise
    CellVerdict verdict = CellVerdict::kError;
    std::string reason;  // one sentence; never empty unless PASS
    std::string cause;   // machine word of the named cause, such as "stale-port"; empty when none
    std::string known;   // why its failure is expected, as a baseline says; empty: it is not
    std::optional<Waiver> waiver = std::nullopt;  // the entry that `known` is of
    bool fresh = false;  // it fails, and the baseline of this run does not expect it
    std::optional<Runs> runs = std::nullopt;  // nothing: it was run once
    // Time from the end of the cell before it; nothing: not measured. Cells that run side by side
    // end together.
    std::optional<double> seconds = std::nullopt;
    std::vector<Measure> measures;
    std::vector<EvidenceFile> evidence;
};

// "dns-race/same-tuple.two-cpus" and, with its cause, "dns-race/same-tuple.two-cpus/late-answer":
// the same in every run and in every report. A cause is written with [A-Za-z0-9._+-] alone.
std::string cell_id(const std::string& scenario, const Cell& cell);
std::string finding_id(const std::string& scenario, const Cell& cell);

// Returns the share of the repetitions that failed, in percent, with its interval; the value is null
// if none came to a verdict.
Measure share_of(const Runs& runs);

const char* name(Cell::Role role);  // "matrix", "control", "cure", "demonstration"

// Returns the role of a cell among `controls`: a control unless the cell names another role.
Cell::Role role_among_controls(const Cell& cell);

// Measure of a cell that counts what was lost, misdelivered or wrong without a cause that fits. A
// cell that has any of it does not pass, whatever it looks for.
inline constexpr const char* kUnexplained = "unexplained";

// The limit of a cell's figures, a measure in words: "device", "tester", "line rate".
// Where it was not the device, they say what the device does at least.
inline constexpr const char* kLimitedBy = "limited_by";

// A bar (with whiskers when it has an interval) of a chart; `kind` picks its colour.
struct Bar {
    enum class Kind { kGood, kBad, kNeutral };
    std::string label;
    double value = 0;
    std::optional<Interval> interval;  // in the unit of the value
    Kind kind = Kind::kNeutral;
};

// One line of a chart of curves, by ascending x.
struct Curve {
    struct Point {
        double x = 0;
        double y = 0;
        std::optional<Interval> interval;  // of y
    };
    std::string label;
    std::vector<Point> points;
};

// Something else that was measured on the x axis of curves: where most of it lies, and its middle.
struct AxisMark {
    std::string label;
    double low = 0;
    double middle = 0;
    double high = 0;
};

// Bars, or curves over an x axis from 0 on, which grows as log(1 + x).
struct Chart {
    std::string title;
    std::string unit;    // of bars and of curves' y
    double maximum = 0;  // of that axis; 0: from the data
    std::vector<Bar> bars;
    std::string x_label = {};  // with its unit
    std::vector<Curve> curves = {};
    std::vector<AxisMark> marks = {};
};

// One line of proof, such as a wrong packet beside the tuple that explains it.
struct Proof {
    std::string title;
    std::vector<std::string> columns;
    std::vector<std::vector<std::string>> rows;
    std::string conclusion;
};

// A scenario was run more than once: one of its runs.
struct Repetition {
    std::uint64_t seed = 0;
    ScenarioVerdict verdict = ScenarioVerdict::kInconclusive;
    std::string headline;
};

// The part of the system that a scenario speaks of: each has a verdict of its own.
enum class Area { kDevice, kKernelPath, kResolvers, kCni, kPerformance, kAcceptance };
// "device and driver", "kernel path", "resolvers", "CNI", "performance", "acceptance"
const char* name(Area area);

struct ScenarioResult {
    std::string id;        // "vxlan-checksum"
    std::string title;     // for people
    std::string question;  // what it asks, one sentence
    Area area = Area::kKernelPath;
    ScenarioVerdict verdict = ScenarioVerdict::kInconclusive;
    // Patterns of the cells that were asked for, when not all were: what they do not match was not
    // run and is not missed.
    std::string part;
    std::string headline;     // what was found, one sentence
    std::string cause;        // in words; empty when nothing was found
    std::string cure;         // the command or setting, and what was seen after it; empty when none
    bool cure_shown = false;  // the cure was applied in this run and the failure was gone
    // Ids of a cell that fails and of the same cell under the cure, shown side by side. Empty: the
    // report takes the first failing cell and a passing one that differs from it in one toggle.
    std::string before_cell;
    std::string after_cell;
    std::vector<std::string> explanation;  // paragraphs: how it comes about, why some survive
    std::vector<Cell> cells;
    std::vector<Cell> controls;
    std::vector<Proof> proofs;
    std::vector<Chart> charts;
    std::vector<TruthTable> truth_tables;
    std::optional<Calibration> calibration;
    std::uint64_t unexplained = 0;  // losses or wrong answers that could not be joined to a cause
    std::vector<EvidenceFile> evidence;
    std::vector<std::string> planned =
        {};  // ids of all cells that were to be run; empty: those of its row, or not known
    std::vector<Repetition> repetitions = {};  // empty: it was run once
    std::size_t kept = 1;  // the repetition that cause, cure, proofs, charts and tables are of
    double seconds = 0;
};

// Returns the scenario's cells, then its controls.
auto all_cells(auto& scenario) {
    std::vector<std::reference_wrapper<std::remove_reference_t<decltype(scenario.cells.front())>>>
        all(scenario.cells.begin(), scenario.cells.end());
    all.insert(all.end(), scenario.controls.begin(), scenario.controls.end());
    return all;
}

// Returns null for a cell or control that the scenario does not have.
const Cell* find_cell(const ScenarioResult& scenario, const std::string& id);

// A part ("tx.as-found.tso") is listed where it fails; where it is not, the whole ("tx.as-found")
// tells whether it was looked at. `find` gives the cell of an id, or null. Null: there is no whole.
template <typename Find>
const Cell* whole_of(std::string id, const Find& find) {
    const Cell* whole = nullptr;
    for (std::size_t dot = id.rfind('.'); whole == nullptr && dot != std::string::npos;
         dot = id.rfind('.')) {
        id.resize(dot);
        whole = find(id);
    }
    return whole;
}

struct PriceTable;  // prices.h
struct Preflight;   // preflight.h

struct RunResult {
    std::string id = {};  // of this report: a UUID; empty in those of older versions
    Parties parties = {};
    RunVerdict verdict = RunVerdict::kIncomplete;
    std::vector<std::string> reasons;  // why that verdict: one sentence each, most important first
    std::string evidence_class;        // "physical", "virtual", "simulated"
    std::string evidence_note;         // what that class may and may not say
    std::string command;               // as typed
    std::string repeat_command;        // repeats it, with its seed
    RunOptions options = {};           // what that command is made of
    std::uint64_t seed = 0;
    std::string lab;
    std::string profile;
    std::string version;         // of pathproof
    std::string started_at;      // ISO 8601, UTC
    std::string ended_at = {};   // likewise; empty in reports of older versions
    std::string issued_at = {};  // when the report was written
    double seconds = 0;
    std::optional<Amendment> amends = std::nullopt;
    std::vector<Item> items = {};           // devices under test
    std::vector<HostWatch> meanwhile = {};  // hosts that were watched
    std::vector<FactGroup> environment;
    std::vector<ScenarioResult> scenarios;
    std::shared_ptr<const PriceTable> prices = nullptr;    // null: not asked for
    std::shared_ptr<const Preflight> preflight = nullptr;  // null: it is of no lab file
};

// The rule of the blueprint, applied to the scenarios: sets nothing else.
//
// A cell that is UNSTABLE counts as one that fails, and is said.
//
// kIncomplete: nothing executed, an ERROR, an unexplained skip, anything inconclusive, unexplained
// loss (in a cell that passes, too), a control that shows the failure, a demonstration that does
// not show what it must, a cure that fails and is said to be shown, a failure or defect without a
// failing cell or without a control that passed (a search for defects may have no control at all, a
// part of a scenario none that was asked for).
//
// kNotQualified: a reproduced failure or a defect whose cause was not named or whose cure was not
// shown; a cell or cure that fails although the scenario did not reproduce its failure.
//
// kConditionallyQualified: failures reproduced or defects found, each with its cause named and its
// cure shown.
//
// kQualified: all else; what is exposed and harms nobody is said.
//
// A scenario that its lab cannot run (kNotRun) is said, and decides nothing unless it is all there is.
std::pair<RunVerdict, std::vector<std::string>> judge_run(
    const std::vector<ScenarioResult>& scenarios);

// One area's verdict, by the same rule, and what it rests on in one sentence.
struct AreaVerdict {
    Area area = Area::kKernelPath;
    RunVerdict verdict = RunVerdict::kIncomplete;
    std::string sentence;
};

// The areas that these scenarios speak of, in the order of Area.
std::vector<AreaVerdict> judge_areas(const std::vector<ScenarioResult>& scenarios);

// 0 qualified (conditionally or not), 1 not, 3 incomplete.
int exit_code(RunVerdict verdict);

}  // namespace pathproof::verdict
