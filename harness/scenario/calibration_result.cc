#include "harness/scenario/calibration_result.h"

#include <fmt/format.h>

namespace pathproof::scenario {
namespace {

using calibration::FaultScore;
using verdict::CalibrationRow;

CalibrationRow::Score score_of(calibration::Score score) {
    switch (score) {
        case calibration::Score::kYes:
            return CalibrationRow::Score::kYes;
        case calibration::Score::kNo:
            return CalibrationRow::Score::kNo;
        case calibration::Score::kNotApplicable:
            break;
    }
    return CalibrationRow::Score::kNotApplicable;
}

CalibrationRow row_of(const FaultScore& score) {
    return {.id = score.id,
            .fault = score.text,
            .detected = score_of(score.detected),
            .named = score_of(score.named),
            .located = score_of(score.located),
            .given_name = score.given,
            .changed = score.effect.wrong + score.effect.harmless,
            .caught = score.caught,
            .note = score.note};
}

// Named: as UNKNOWN, which is the right answer.
CalibrationRow open_row_of(const FaultScore& score) {
    CalibrationRow row = row_of(score);
    row.named = score.detected == calibration::Score::kYes && score.wrongly_named.empty()
                    ? CalibrationRow::Score::kYes
                    : CalibrationRow::Score::kNo;
    return row;
}

CalibrationRow mutant_row(const calibration::MutantScore& mutant) {
    CalibrationRow row{.id = judge::name(mutant.mistake), .fault = "byte-wise judge"};
    row.detected = mutant.as_it_must() ? CalibrationRow::Score::kYes : CalibrationRow::Score::kNo;
    row.named = row.located = CalibrationRow::Score::kNotApplicable;
    row.caught = mutant.alarms;
    row.note = fmt::format("objects to {} of {} healthy frames", mutant.alarms, mutant.frames);
    return row;
}

void count_pairs(const calibration::CalibrationResult& result, verdict::Calibration& out) {
    out.pairs = result.pairs.size();
    for (const calibration::PairScore& pair : result.pairs) {
        out.pairs_both_named += pair.both_named() ? 1 : 0;
        out.pairs_masked += pair.masked() ? 1 : 0;
    }
    out.pairs_missed = out.pairs - out.pairs_both_named - out.pairs_masked;
}

}  // namespace

verdict::Calibration to_verdict(const calibration::CalibrationResult& result) {
    verdict::Calibration out;
    out.instrument = fmt::format(
        "Faults planted in a {} that stands in for hardware, {} rows of the matrix sent and {} "
        "received.",
        softnic::kSoftwareNicName, result.send_rows, result.receive_rows);
    out.seed = result.options.seed;
    for (const FaultScore& score : result.faults) {
        out.faults.push_back(row_of(score));
    }
    for (const FaultScore& score : result.open_world) {
        out.open_world.push_back(open_row_of(score));
    }
    for (const calibration::MutantScore& mutant : result.mutants) {
        if (mutant.mistake != judge::OracleMistake::kNone) {
            out.judge_mutants.push_back(mutant_row(mutant));
        }
    }
    out.healthy_frames = result.healthy.frames;
    out.false_alarms = result.healthy.alarms;
    count_pairs(result, out);
    for (const auto& [key, count] : result.confusion()) {
        out.confusion.push_back({key.first, key.second, count});
    }
    return out;
}

}  // namespace pathproof::scenario
