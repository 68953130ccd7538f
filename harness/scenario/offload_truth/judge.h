// One setting of a device's offloads, every row of the matrix sent through it and judged.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dataplane/matrix/matrix.h"
#include "dataplane/matrix/tx_cell.h"
#include "harness/scenario/offload_truth/settings.h"
#include "harness/scenario/offload_truth/truth_bench.h"
#include "harness/verdict/truth_table.h"

namespace pathproof::scenario {

// Where the device's frames go.
enum class WireKind {
    kCable,   // they leave the machine: an unfinished checksum is a wrong one
    kMemory,  // a virtual device hands them over in memory, by design with work left to do
};

struct RowOutcome {
    matrix::TxCellResult wire;      // as it came
    matrix::TxCellResult finished;  // behind a healthy NIC
    std::uint64_t unfinished = 0;   // frames that came as they were handed over, their request open
    std::uint64_t super_frames = 0;                 // of them, not cut
    std::map<std::string, std::uint64_t> refusals;  // reason -> probes
    // Wrong values that a first observation had and no later one; the rest is of the last one.
    std::vector<matrix::TxFinding> once;
    std::uint64_t observations = 1;  // separate ones that showed what is wrong

    const matrix::TxCellResult& seen(WireKind kind) const {
        return kind == WireKind::kMemory ? finished : wire;
    }
};

struct SettingOutcome {
    Setting setting;
    SettingTaken taken;
    std::map<std::size_t, RowOutcome> rows;  // by number in the matrix
    TesterTally tally;
};

// The frames of a matrix, made once.
struct ProbeSet {
    matrix::ProbeMaker maker;
    matrix::Matrix matrix;
    std::vector<matrix::Probe> probes;  // all of a row behind one another
};
// `each`: probes of a row.
Result<ProbeSet> make_probes(const matrix::ProbeMaker& maker, matrix::Matrix matrix,
                             std::uint32_t each);

// Sends the probes of all rows that `wanted` takes; the setting is set already.
Status send_and_judge(TruthBench& bench, const ProbeSet& set,
                      const std::function<bool(std::size_t)>& wanted, SettingOutcome& outcome);

// Observes the rows that are wrong a second time, and a third: a wrong value counts if it shows
// again, of frames that never came the same ones. Under the setting that the outcome is of.
Status confirm(TruthBench& bench, const ProbeSet& set, WireKind wire, SettingOutcome& outcome);

struct Defect {
    std::size_t row = 0;
    matrix::TxFinding finding;
    std::uint64_t observations = 1;
};

// Several rows taken together.
struct Judged {
    std::uint64_t probes = 0;
    std::uint64_t frames = 0;  // intended, without those refused
    std::uint64_t right = 0;   // behind a healthy NIC where the wire is memory
    std::uint64_t unfinished = 0;
    std::uint64_t refused = 0;  // probes
    std::vector<Defect> defects;
    std::vector<Defect> once;                               // seen once, not confirmed
    std::map<std::string, std::uint64_t> unfinished_names;  // "PSEUDO" -> frames
    std::map<std::string, std::uint64_t> refusals;

    std::uint64_t wrong() const { return frames - right; }
    std::uint64_t seen_once() const;  // frames
    verdict::Observed observed() const;
    // Names of wrong values, most frequent first.
    std::vector<std::string> defect_names() const;
};
Judged judge_rows(const SettingOutcome& outcome, WireKind wire,
                  const std::function<bool(std::size_t)>& wanted);

// "PSEUDO", or "SEG_HDR(plain.tcp.flags)" where the place says more than the title.
std::string title_of(const matrix::TxFinding& finding);

}  // namespace pathproof::scenario
