// One setting of a device's offloads, every row of the matrix sent through it and judged.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dataplane/matrix/matrix.h"
#include "dataplane/matrix/tx_cell.h"
#include "harness/scenario/offload_truth_settings.h"
#include "harness/scenario/truth_bench.h"
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
};

struct SettingOutcome {
    Setting setting;
    SettingTaken taken;
    std::map<std::size_t, RowOutcome> rows;  // by number in the matrix
    TesterTally tally;
};

// The frames of a matrix, made once.
struct ProbeSet {
    matrix::Matrix matrix;
    std::vector<matrix::Probe> probes;  // all of a row behind one another
};
// `each`: probes of a row.
Result<ProbeSet> make_probes(const matrix::ProbeMaker& maker, matrix::Matrix matrix,
                             std::uint32_t each);

// Sends the probes of all rows that `wanted` takes; the setting is set already.
Status send_and_judge(TruthBench& bench, const matrix::ProbeMaker& maker, const ProbeSet& set,
                      const std::function<bool(std::size_t)>& wanted, SettingOutcome& outcome);

struct Defect {
    std::size_t row = 0;
    matrix::TxFinding finding;
};

// Several rows taken together.
struct Judged {
    std::uint64_t probes = 0;
    std::uint64_t frames = 0;  // intended, without those refused
    std::uint64_t right = 0;   // behind a healthy NIC where the wire is memory
    std::uint64_t unfinished = 0;
    std::uint64_t refused = 0;  // probes
    std::vector<Defect> defects;
    std::map<std::string, std::uint64_t> unfinished_names;  // "PSEUDO" -> frames
    std::map<std::string, std::uint64_t> refusals;

    std::uint64_t wrong() const { return frames - right; }
    verdict::Observed observed() const;
    // Names of wrong values, most frequent first.
    std::vector<std::string> defect_names() const;
};
Judged judge_rows(const SettingOutcome& outcome, WireKind wire,
                  const std::function<bool(std::size_t)>& wanted);

// "PSEUDO", or "SEG_HDR(plain.tcp.flags)" where the place says more than the title.
std::string title_of(const matrix::TxFinding& finding);

}  // namespace pathproof::scenario
