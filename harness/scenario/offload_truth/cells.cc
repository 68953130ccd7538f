#include "harness/scenario/offload_truth/cells.h"

#include <fmt/ranges.h>

#include <set>

#include "dataplane/base/join_each.h"
#include "dataplane/judge/explain.h"
#include "harness/scenario/measures.h"

namespace pathproof::scenario {
namespace {

using truth::Column;
using truth::Judged;
using truth::SettingOutcome;
using truth::SettingTaken;
using truth::TesterTally;
using truth::TruthRun;
using verdict::Cell;
using verdict::CellVerdict;
using verdict::Observed;

constexpr std::size_t kMostSpecimens = 64;

CellVerdict verdict_of(const TesterTally& tally, const Judged& judged) {
    if (tally.lost != 0 || (tally.received == 0 && judged.frames != 0)) {
        return CellVerdict::kError;
    }
    if (judged.observed() == Observed::kWrong) {
        return CellVerdict::kFail;
    }
    if (judged.seen_once() != 0) {
        return CellVerdict::kInconclusive;
    }
    return judged.observed() == Observed::kRefused || judged.observed() == Observed::kNotTested
               ? CellVerdict::kSkip
               : CellVerdict::kPass;
}

std::string reason_of(const TesterTally& tally, const Judged& judged) {
    if (tally.lost != 0) {
        return fmt::format("the tester's own port lost or cut {} frames", tally.lost);
    }
    if (tally.received == 0 && judged.frames != 0) {
        return "nothing came at the tester's port: is it the far end of this device's cable?";
    }
    switch (judged.observed()) {
        case Observed::kWrong:
            return fmt::format("{} of {} frames are wrong: {}", judged.wrong(), judged.frames,
                               fmt::join(judged.defect_names(), ", "));
        case Observed::kRefused:
            return "every frame was refused: " + judged.refusals.begin()->first;
        case Observed::kNotTested: return "no frame of this run is of this kind";
        case Observed::kByDesign:
        case Observed::kNoClaim:
        case Observed::kRight: break;
    }
    return judged.seen_once() == 0 ? "" : judged.once_text();
}

std::string side_effects(const SettingTaken& taken) {
    std::set<std::string> texts;
    for (const agent::FeatureTrial& trial : taken.trials) {
        for (const agent::FeatureChange& change : trial.along) {
            texts.insert(
                fmt::format("{} {} with {}", change.name, change.after ? "on" : "off", trial.name));
        }
        if (trial.outcome == agent::TrialOutcome::kRefused ||
            trial.outcome == agent::TrialOutcome::kIgnored) {
            texts.insert(fmt::format("{} {}: {}", trial.name, trial.wanted ? "on" : "off",
                                     agent::name(trial.outcome)));
        }
    }
    for (const agent::FeatureChange& change : taken.forgotten) {
        texts.insert(fmt::format("{} went {} by itself", change.name, change.after ? "on" : "off"));
    }
    return fmt::format("{}", fmt::join(texts, ", "));
}

// `column`: null for all kinds of frames.
Cell cell_of(const SettingOutcome& outcome, const Judged& judged, const Column* column) {
    Cell cell{.id = column == nullptr ? truth::cell_id(outcome.setting)
                                      : truth::cell_id(outcome.setting, *column)};
    cell.toggles = {{"offloads", outcome.setting.title()},
                    {"frames", column == nullptr ? "all kinds" : column->name}};
    cell.verdict = verdict_of(outcome.tally, judged);
    cell.reason = reason_of(outcome.tally, judged);
    cell.cause = judged.defects.empty() ? "" : judged.defect_names().front();
    cell.measures = {
        count_of("frames_intended", "frames that a perfect sender puts on the wire", judged.frames),
        count_of("frames_right", "frames exactly as intended", judged.right),
        count_of("frames_wrong", "frames wrong or missing", judged.wrong()),
        count_of("frames_unfinished", "frames handed over unfinished, by design",
                 judged.unfinished),
        count_of("probes_refused", "probes that the kernel refused", judged.refused)};
    if (!judged.unfinished_names.empty()) {
        const std::string names = join_each(judged.unfinished_names, [](const auto& each) {
            return fmt::format("{} {}", each.first, each.second);
        });
        cell.measures.push_back(
            words_of("unfinished_names", "what they look like as they are", names));
    }
    if (!judged.defects.empty()) {
        const matrix::Specimen& specimen = judged.defects.front().specimen;
        const bool came = !specimen.wire.empty();
        cell.measures.push_back(words_of(
            "specimen", came ? "one such frame" : "one such frame, that never came",
            fmt::format("{:02x}", fmt::join(came ? specimen.wire : specimen.intended, ""))));
    }
    if (const std::string effects = side_effects(outcome.taken);
        !effects.empty() && column == nullptr) {
        cell.measures.push_back(words_of("side_effects", "what the device made of it", effects));
    }
    if (outcome.tally.strays != 0 && column == nullptr) {
        cell.measures.push_back(
            count_of("stray_frames", "frames that are none of ours", outcome.tally.strays));
    }
    return cell;
}

// The specimens of a failing cell, and what is wrong with each in words.
void add_evidence(const TruthRun& run, const SettingOutcome& outcome, const Column& column,
                  TruthBench& bench, Cell& cell) {
    const auto is_in_column = [&](std::size_t row) {
        return truth::columns_by_request().is_in(column, run.set->matrix.rows[row]);
    };
    std::vector<matrix::FrameBytes> frames;
    std::string text;
    for (const auto& [number, causes] :
         truth::wrong_rows(outcome, *run.set, run.wire, is_in_column)) {
        const matrix::Row& row = run.set->matrix.rows[number];
        for (const matrix::TxFinding& finding : causes) {
            if (frames.size() == kMostSpecimens) {
                break;
            }
            text += fmt::format("{} {} in {} frames of the row: {}\nwire 0x{:x}, right 0x{:x}\n",
                                finding.place, truth::name_of(finding), finding.frames,
                                matrix::describe(row), finding.wire_value, finding.right_value);
            if (finding.specimen.wire.empty()) {
                text += "nothing came of it\n\n";
                continue;
            }
            frames.push_back(finding.specimen.wire);
            judge::Evidence evidence{.tunnels = matrix::tunnels_of(row)};
            evidence.handed_over = finding.specimen.handed;
            text += fmt::format("frame {} of the pcapng:\n{}\n", frames.size(),
                                judge::explain(finding.specimen.wire, evidence));
        }
    }
    bench.keep(frames, text, cell);
}

}  // namespace

std::vector<Cell> truth_cells(const TruthRun& run, TruthBench& bench) {
    std::vector<Cell> cells;
    for (const SettingOutcome& outcome : run.outcomes) {
        cells.push_back(
            cell_of(outcome, truth::judge_condition(run, outcome, std::nullopt), nullptr));
        for (const Column& column : truth::columns_by_request()) {
            const Judged judged = truth::judge_condition(run, outcome, column.condition);
            if (judged.observed() != Observed::kWrong) {
                continue;
            }
            Cell cell = cell_of(outcome, judged, &column);
            add_evidence(run, outcome, column, bench, cell);
            cells.push_back(std::move(cell));
        }
    }
    return cells;
}

}  // namespace pathproof::scenario
