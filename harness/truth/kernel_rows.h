// One setting of a kernel device's offloads: every row of the matrix sent through it and judged.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dataplane/matrix/matrix.h"
#include "dataplane/matrix/tx_cell.h"
#include "harness/truth/batch.h"
#include "harness/truth/defects.h"
#include "harness/truth/finish.h"
#include "harness/truth/settings.h"
#include "harness/truth/trail.h"
#include "harness/verdict/truth_table.h"

namespace pathproof::truth {

struct RowOutcome {
    matrix::TxCellResult wire;      // as it came
    matrix::TxCellResult finished;  // behind a healthy NIC
    std::uint64_t unfinished = 0;   // frames that came as they were handed over, their request open
    std::uint64_t super_frames = 0;                 // of them, not cut
    std::uint64_t asked = 0;                        // frames that came and left a checksum to it
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
    Trail trail;  // all looks
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

// Sends the probes of all rows that `wanted` takes, at most `most_frames` frames at a time; the
// setting is set already. Stalls are waited out where there is a watch.
Status send_and_judge(const Path& path, std::size_t most_frames, const ProbeSet& set,
                      const std::function<bool(std::size_t)>& wanted, SettingOutcome& outcome,
                      StallWatch* watch = nullptr);

// Observes the rows that are wrong a second time, and a third: a wrong value counts if it shows
// again, of frames that never came the same ones. A frame that came with other bytes than were
// handed over also counts if another one shows the same in another look. Under the setting that the
// outcome is of.
Status confirm(const Path& path, std::size_t most_frames, const ProbeSet& set, WireKind wire,
               SettingOutcome& outcome, StallWatch* watch = nullptr);

// Returns whether the frame came with bytes that nobody handed over. Losses and copies are no
// change; nor, if the wire is memory, is a frame of another setting that came late and unfinished.
bool is_change(const matrix::TxFinding& finding, WireKind wire);

// Returns whether the device finishes some frames of a class and leaves others of it unfinished. A
// device that leaves work to the next one by design leaves all of a class. A class is the frames
// that the kernel treats alike: with or without a tag, cut or not.
bool finishes_some(const SettingOutcome& outcome, const ProbeSet& set);

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
    // "seen once, not confirmed: 3 of 24 frames (PSEUDO)"
    std::string once_text() const;
    verdict::Observed observed() const;
    // Names of wrong values, most frequent first.
    std::vector<std::string> defect_names() const;
};
// Judges the rows that `wanted` takes; wrong values get their names from all rows of the outcome.
Judged judge_rows(const SettingOutcome& outcome, const ProbeSet& set, WireKind wire,
                  const std::function<bool(std::size_t)>& wanted);

// A row that is wrong, with the causes of that.
struct WrongRow {
    std::size_t number = 0;
    std::vector<matrix::TxFinding> causes;
};
std::vector<WrongRow> wrong_rows(const SettingOutcome& outcome, const ProbeSet& set, WireKind wire,
                                 const std::function<bool(std::size_t)>& wanted);

}  // namespace pathproof::truth
