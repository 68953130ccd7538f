#include "harness/scenario/calibration_result.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "harness/scenario/measures.h"

namespace pathproof::scenario {
namespace {

using calibration::FaultScore;
using verdict::CalibrationRow;

CalibrationRow::Score score_of(calibration::Score score) {
    switch (score) {
        case calibration::Score::kYes: return CalibrationRow::Score::kYes;
        case calibration::Score::kNo: return CalibrationRow::Score::kNo;
        case calibration::Score::kNotApplicable: break;
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

std::uint64_t count(const std::vector<CalibrationRow>& rows,
                    CalibrationRow::Score CalibrationRow::*which) {
    return static_cast<std::uint64_t>(std::ranges::count_if(rows, [&](const CalibrationRow& row) {
        return row.*which == CalibrationRow::Score::kYes;
    }));
}

std::vector<verdict::Measure> measures_of(const verdict::Calibration& calibration) {
    const std::vector<CalibrationRow>& faults = calibration.faults;
    return {
        count_of("faults_planted", "defects planted in a software NIC", faults.size()),
        count_of("faults_detected", "detected", count(faults, &CalibrationRow::detected)),
        count_of("faults_named", "named", count(faults, &CalibrationRow::named)),
        count_of("faults_located", "located", count(faults, &CalibrationRow::located)),
        count_of("unknown_left_unnamed", "defects unknown to the judge that it left unnamed",
                 count(calibration.open_world, &CalibrationRow::named)),
        count_of("healthy_frames", "healthy frames and look-alikes", calibration.healthy_frames),
        count_of("false_alarms", "of them objected to", calibration.false_alarms),
    };
}

// The first of many, and how many more.
std::string reason_of(const Result<calibration::CalibrationResult>& calibration) {
    if (!calibration) {
        return calibration.error().message;
    }
    const std::vector<std::string> failures = calibration->failures();
    if (failures.empty()) {
        return "";
    }
    return failures.size() == 1
               ? failures.front()
               : fmt::format("{}, and {} more", failures.front(), failures.size() - 1);
}

// Sets a thread's scheduling policy; without the permission the thread keeps its own.
void set_policy(pid_t thread, int policy) {
    const sched_param none{};
    sched_setscheduler(thread, policy, &none);
}

// Gives the calibration's threads normal priority: with idle CPU time alone it would never end
// while others want all of it.
void hurry() {
    std::error_code none;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", none)) {
        const pid_t id = std::atoi(thread.path().filename().c_str());
        if (sched_getscheduler(id) == SCHED_IDLE) {
            set_policy(id, SCHED_OTHER);
        }
    }
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

void attach(const Result<calibration::CalibrationResult>& calibration,
            verdict::ScenarioResult& result) {
    verdict::Cell control{.id = "control.instrument-calibrated",
                          .toggles = {{"device", "software NIC with planted defects"}}};
    if (calibration) {
        result.calibration = to_verdict(*calibration);
        control.measures = measures_of(*result.calibration);
    }
    control.reason = reason_of(calibration);
    control.verdict =
        control.reason.empty() ? verdict::CellVerdict::kPass : verdict::CellVerdict::kError;
    if (!control.reason.empty()) {
        result.verdict = verdict::ScenarioVerdict::kInconclusive;
        result.headline = fmt::format(
            "The instrument failed its calibration ({}), so what it says of the device proves "
            "nothing: {}",
            control.reason, result.headline);
    }
    result.controls.push_back(std::move(control));
}

CalibrationBeside::CalibrationBeside(const Options& options) {
    // Every run plants the same defects and frames: a failure here is a change, not bad luck of a
    // quick run's few payloads. `pathproof offload calibrate` draws others.
    constexpr std::uint64_t kSeed = 1;
    calibration::CalibrationOptions quick = calibration::quick_options();
    quick.seed = kSeed;
    quick.workers = std::clamp(static_cast<unsigned>(options.cpus.size()), 1u, 4u);
    running_ = std::async(std::launch::async, [quick] {
        // The calibration's own threads inherit the policy.
        set_policy(0, SCHED_IDLE);
        return calibration::calibrate(quick);
    });
}

CalibrationBeside::~CalibrationBeside() {
    hurry();
}

void CalibrationBeside::attach_to(Context& context, verdict::ScenarioResult& result) {
    context.progress.begin("calibration", 1);
    context.progress.step("defects planted in a software NIC, and healthy frames");
    hurry();
    attach(running_.get(), result);
}

}  // namespace pathproof::scenario
