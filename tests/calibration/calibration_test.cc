// The short calibration: the instrument is sound; broken on purpose it is not.
#include "dataplane/calibration/calibration.h"

#include <boost/test/unit_test.hpp>
#include <thread>

using namespace pathproof;
using namespace pathproof::calibration;

namespace {

CalibrationOptions short_options() {
    CalibrationOptions options = quick_options();
    options.healthy_frames = 20'000;
    options.pair_step = 11;
    options.workers = std::thread::hardware_concurrency() > 1 ? 2 : 1;
    return options;
}

const CalibrationResult& short_calibration() {
    static const CalibrationResult kResult = [] {
        auto result = calibrate(short_options());
        BOOST_REQUIRE_MESSAGE(result, result.error().message);
        return std::move(*result);
    }();
    return kResult;
}

std::size_t count(const std::vector<FaultScore>& scores, Score FaultScore::*which, Score value) {
    std::size_t number = 0;
    for (const FaultScore& score : scores) {
        number += score.*which == value ? 1 : 0;
    }
    return number;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(calibrations)

BOOST_AUTO_TEST_CASE(every_row_of_the_fault_list_is_detected_named_and_located) {
    const CalibrationResult& result = short_calibration();
    BOOST_TEST(result.rows() == 48u);
    BOOST_TEST(result.rows_detected() == 48u);
    for (const FaultScore& score : result.faults) {
        const std::string who = score.id + " " + score.text + ": " + score.given;
        BOOST_TEST((score.detected != Score::kNo), who);
        BOOST_TEST((score.named != Score::kNo), who);
        BOOST_TEST((score.located != Score::kNo), who);
    }
    BOOST_TEST(result.failures().empty(),
               (result.failures().empty() ? std::string() : result.failures().front()));
    // Few faults are too rare for a short run (1e-5), and few have no name.
    BOOST_TEST(count(result.faults, &FaultScore::detected, Score::kNotApplicable) <= 1u);
    BOOST_TEST(count(result.faults, &FaultScore::named, Score::kNotApplicable) <= 2u);
}

BOOST_AUTO_TEST_CASE(faults_that_nobody_knows_are_detected_and_get_no_name) {
    const CalibrationResult& result = short_calibration();
    BOOST_TEST(result.open_world.size() >= 10u);
    for (const FaultScore& score : result.open_world) {
        BOOST_TEST((score.detected == Score::kYes), score.text);
        BOOST_TEST(score.wrongly_named.empty(), score.text + ": " + score.given);
    }
}

BOOST_AUTO_TEST_CASE(of_two_faults_both_are_named_or_one_is_masked) {
    const CalibrationResult& result = short_calibration();
    BOOST_TEST(result.pairs.size() > 50u);
    std::size_t both = 0;
    for (const PairScore& pair : result.pairs) {
        BOOST_TEST((pair.both_named() || pair.masked()),
                   pair.sender + " and " + pair.receiver + ": " + pair.given);
        both += pair.both_named() ? 1 : 0;
    }
    BOOST_TEST(both > result.pairs.size() / 2);
}

BOOST_AUTO_TEST_CASE(healthy_frames_raise_no_alarm_and_each_broken_judge_does) {
    const CalibrationResult& result = short_calibration();
    BOOST_TEST(result.healthy.frames >= 20'000u);
    BOOST_TEST(result.healthy.lossy > 0u);
    for (std::size_t i = 0; i < kLookAlikes; ++i) {
        BOOST_TEST(result.healthy.look_alikes[i] > 0u, name(static_cast<LookAlike>(i)));
    }
    BOOST_TEST(result.healthy.alarms == 0u,
               (result.healthy.examples.empty() ? "" : result.healthy.examples.front()));
    BOOST_TEST(result.mutants.size() == judge::kOracleMistakes);
    for (const MutantScore& mutant : result.mutants) {
        BOOST_TEST(mutant.as_it_must(), judge::name(mutant.mistake));
    }
}

BOOST_AUTO_TEST_CASE(the_same_seed_gives_the_same_scores) {
    const auto material = make_material({.strength = matrix::Strength::kPairs, .seed = 3});
    const auto again = make_material({.strength = matrix::Strength::kPairs, .seed = 3});
    BOOST_REQUIRE(material && again);
    const softnic::FaultModel& model = softnic::fault_models()[8];
    const FaultScore one = score_fault(model, *material, 3, {});
    const FaultScore two = score_fault(model, *again, 3, {});
    BOOST_TEST(one.given == two.given);
    BOOST_TEST(one.caught == two.caught);
    BOOST_TEST(one.exact == two.exact);
    BOOST_TEST(one.effect.wrong == two.effect.wrong);
}

// A judge that does not look at some header fields: faults in them are missed, and that is said.
BOOST_AUTO_TEST_CASE(a_blind_judge_makes_the_calibration_fail) {
    const auto material = make_material({.strength = matrix::Strength::kPairs});
    BOOST_REQUIRE(material);
    CalibrationResult result;
    const matrix::FreeFields blind = {"tcp.flags", "inner.tcp.flags"};
    for (const softnic::FaultModel& model : softnic::fault_models()) {
        if (model.text == "tx.innermost.seg.SEG_PSH@tso") {
            result.faults.push_back(score_fault(model, *material, 1, {}));
            BOOST_TEST((result.faults.back().located == Score::kYes));
            result.faults.back() = score_fault(model, *material, 1, blind);
        }
    }
    BOOST_REQUIRE(result.faults.size() == 1u);
    BOOST_TEST((result.faults.front().detected == Score::kNo));
    BOOST_TEST(result.rows_detected() == 0u);
    BOOST_TEST(!result.passed());
}

BOOST_AUTO_TEST_CASE(a_judge_with_a_mistake_gives_false_alarms) {
    const auto material = make_material({.strength = matrix::Strength::kPairs, .probes = 2});
    BOOST_REQUIRE(material);
    const auto sound = run_healthy(*material, {.healthy_frames = 4000});
    const auto broken = run_healthy(
        *material, {.healthy_frames = 4000, .mistake = judge::OracleMistake::kOddByteLost});
    BOOST_REQUIRE(sound && broken);
    BOOST_TEST(sound->alarms == 0u);
    BOOST_TEST(broken->alarms > 0u);
    BOOST_TEST(!broken->examples.empty());
}

BOOST_AUTO_TEST_SUITE_END()
