// Effect of a calibration on the scenario whose instrument it proves.
#include "harness/scenario/calibration_result.h"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(calibration_result)

using namespace pathproof;
using namespace pathproof::scenario;
using calibration::CalibrationResult;
using calibration::Score;

namespace {

// A run that found nothing, every cell of it measured.
verdict::ScenarioResult sound_scenario() {
    verdict::ScenarioResult result;
    result.id = "offload-truth";
    result.verdict = verdict::ScenarioVerdict::kNoDefectFound;
    result.headline = "No defect found.";
    result.cells.push_back({.id = "tx", .verdict = verdict::CellVerdict::kPass});
    result.controls.push_back({.id = "control", .verdict = verdict::CellVerdict::kPass});
    return result;
}

CalibrationResult sound_calibration() {
    CalibrationResult result;
    result.faults.push_back({.id = "F01",
                             .text = "tx.outer.udp.NAT0",
                             .detected = Score::kYes,
                             .named = Score::kYes,
                             .located = Score::kYes});
    result.healthy.frames = 5000;
    result.healthy.look_alikes.fill(7);
    return result;
}

verdict::RunVerdict verdict_of(const verdict::ScenarioResult& result) {
    return verdict::judge_run({result}).first;
}

const verdict::Cell& control_of(const verdict::ScenarioResult& result) {
    BOOST_REQUIRE(!result.controls.empty());
    BOOST_REQUIRE(result.controls.back().id == "control.instrument-calibrated");
    return result.controls.back();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_sound_instrument_leaves_the_verdict_and_carries_its_table) {
    verdict::ScenarioResult result = sound_scenario();
    attach(sound_calibration(), result);
    BOOST_TEST((control_of(result).verdict == verdict::CellVerdict::kPass));
    BOOST_TEST(control_of(result).reason.empty());
    BOOST_REQUIRE(result.calibration);
    BOOST_TEST(result.calibration->faults.size() == 1u);
    BOOST_TEST(result.calibration->healthy_frames == 5000u);
    BOOST_TEST((result.verdict == verdict::ScenarioVerdict::kNoDefectFound));
    BOOST_TEST((verdict_of(result) == verdict::RunVerdict::kQualified));
}

BOOST_AUTO_TEST_CASE(a_defect_that_was_missed_leaves_the_run_incomplete) {
    CalibrationResult missed = sound_calibration();
    missed.faults[0].detected = Score::kNo;
    verdict::ScenarioResult result = sound_scenario();
    attach(missed, result);
    BOOST_TEST((control_of(result).verdict == verdict::CellVerdict::kError));
    BOOST_TEST(control_of(result).reason == "F01 tx.outer.udp.NAT0: not detected");
    BOOST_TEST((result.verdict == verdict::ScenarioVerdict::kInconclusive));
    BOOST_TEST(result.headline.ends_with("No defect found."), result.headline);
    BOOST_REQUIRE(result.calibration);  // the table shows what was missed
    BOOST_TEST((verdict_of(result) == verdict::RunVerdict::kIncomplete));
}

BOOST_AUTO_TEST_CASE(a_false_alarm_leaves_the_run_incomplete_even_beside_a_defect_that_was_found) {
    CalibrationResult alarmed = sound_calibration();
    alarmed.healthy.alarms = 2;
    alarmed.healthy.examples = {"PSEUDO at plain.udp", "CARRY at plain.tcp"};
    verdict::ScenarioResult result = sound_scenario();
    result.verdict = verdict::ScenarioVerdict::kDefectFound;
    result.cells[0].verdict = verdict::CellVerdict::kFail;
    result.cause = "PSEUDO";
    result.cure_shown = true;
    BOOST_TEST((verdict_of(result) != verdict::RunVerdict::kIncomplete));
    attach(alarmed, result);
    BOOST_TEST(control_of(result).reason.ends_with("and 1 more"), control_of(result).reason);
    BOOST_TEST((verdict_of(result) == verdict::RunVerdict::kIncomplete));
}

BOOST_AUTO_TEST_CASE(a_calibration_that_could_not_be_made_is_an_error_with_its_sentence) {
    verdict::ScenarioResult result = sound_scenario();
    attach(fail(ErrorCode::kFailed, "row 'x': the software NIC refuses a frame"), result);
    BOOST_TEST(control_of(result).reason == "row 'x': the software NIC refuses a frame");
    BOOST_TEST(!result.calibration.has_value());
    BOOST_TEST((verdict_of(result) == verdict::RunVerdict::kIncomplete));
}

BOOST_AUTO_TEST_SUITE_END()
