#include "dataplane/search/trials.h"

#include <boost/test/unit_test.hpp>

#include "tests/search/simulated_device.h"

using namespace pathproof;
using namespace pathproof::search;

namespace {

const TrialInput kOneSecond{.load_pps = 1000, .duration = std::chrono::seconds(1)};

// Gives the prepared outcomes in turn, the last again and again.
class Scripted : public Measurer {
  public:
    explicit Scripted(std::vector<TrialOutput> outcomes) : outcomes_(std::move(outcomes)) {}
    Result<TrialOutput> measure(const TrialInput& input) override {
        TrialOutput output = outcomes_[std::min(calls, outcomes_.size() - 1)];
        output.input = input;
        ++calls;
        return output;
    }
    std::size_t calls = 0;

  private:
    std::vector<TrialOutput> outcomes_;
};

TrialOutput objected() {
    return {.sent = 1000, .lost = 7, .objection = "the worker waited for its CPU"};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_trial_with_an_objection_is_run_again_until_it_has_none) {
    Scripted measurer({objected(), objected(), {.sent = 1000, .lost = 1}});
    std::size_t seen = 0;
    Trials trials(measurer, {.repeats = 2}, [&](const TrialOutput&) { ++seen; });
    const auto trial = trials.run(kOneSecond);
    BOOST_REQUIRE(trial.has_value());
    BOOST_REQUIRE(*trial != nullptr);
    BOOST_TEST((*trial)->lost == 1);
    BOOST_TEST(trials.log().size() == 3);
    BOOST_TEST(seen == 3);
}

BOOST_AUTO_TEST_CASE(the_last_trial_is_used_when_all_have_objections) {
    Scripted measurer({objected()});
    Trials trials(measurer, {.repeats = 2});
    const auto trial = trials.run(kOneSecond);
    BOOST_REQUIRE(*trial != nullptr);
    BOOST_TEST(!(*trial)->objection.empty());
    BOOST_TEST(measurer.calls == 3);
}

BOOST_AUTO_TEST_CASE(a_tester_far_below_the_load_is_not_asked_again) {
    TrialOutput slow = objected();
    slow.sent = 500;
    slow.tester_limit = "sends 500 frames per second at most";
    Scripted measurer({slow});
    Trials trials(measurer, {.repeats = 2});
    BOOST_REQUIRE(*trials.run(kOneSecond) != nullptr);
    BOOST_TEST(measurer.calls == 1);
}

BOOST_AUTO_TEST_CASE(a_tester_that_stood_still_below_the_load_is_asked_again) {
    TrialOutput still = objected();
    still.sent = 980;
    still.tester_limit = "980 of 1000 frames per second were offered";
    still.limited_by_stalls = true;
    Scripted measurer({still, {.sent = 1000}});
    Trials trials(measurer, {.repeats = 2});
    const auto trial = trials.run(kOneSecond);
    BOOST_REQUIRE(*trial != nullptr);
    BOOST_TEST((*trial)->tester_limit.empty());
    BOOST_TEST(measurer.calls == 2);
}

BOOST_AUTO_TEST_CASE(a_disturbance_repeats_a_trial_that_lost_or_whose_times_are_used) {
    const TrialOutput lossless{.sent = 1000, .disturbance = "worker 0 waited for its CPU"};
    TrialOutput lossy = lossless;
    lossy.lost = 1;
    const auto runs = [](const TrialOutput& outcome, Use use) {
        Scripted measurer({outcome});
        Trials trials(measurer, {.repeats = 2});
        BOOST_TEST((*trials.run(kOneSecond, use) != nullptr));
        return measurer.calls;
    };
    BOOST_TEST(runs(lossless, Use::kLoss) == 1);
    BOOST_TEST(runs(lossy, Use::kLoss) == 3);
    BOOST_TEST(runs(lossless, Use::kTimes) == 3);
}

BOOST_AUTO_TEST_CASE(frames_that_the_tester_failed_to_send_count_as_lost) {
    TrialOutput output{.input = kOneSecond, .sent = 800, .lost = 8};
    BOOST_TEST(output.loss_ratio() == 0.01);
    output.tester_limit = "sends 800 frames per second at most";
    BOOST_TEST(output.loss_ratio() == 0.208);
    BOOST_TEST(TrialOutput().loss_ratio() == 0);
}

BOOST_AUTO_TEST_CASE(no_trial_begins_that_would_pass_the_budget) {
    SimulatedDevice device(step_loss);
    Budget budget = device.budget();
    budget.time = std::chrono::milliseconds(2500);
    Trials trials(device, budget);
    BOOST_TEST((*trials.run(kOneSecond) != nullptr));
    BOOST_TEST((*trials.run(kOneSecond) != nullptr));
    BOOST_TEST((*trials.run(kOneSecond) == nullptr));
    BOOST_TEST((trials.ending() == Ending::kOutOfTime));
    BOOST_TEST(device.trials() == 2);
}

BOOST_AUTO_TEST_CASE(nothing_runs_once_the_user_wants_an_end) {
    SimulatedDevice device(step_loss);
    std::atomic<bool> stop = false;
    Budget budget = device.budget();
    budget.stop = &stop;
    Trials trials(device, budget);
    BOOST_TEST((*trials.run(kOneSecond) != nullptr));
    stop = true;
    BOOST_TEST((*trials.run(kOneSecond) == nullptr));
    BOOST_TEST((trials.ending() == Ending::kStopped));
    stop = false;
    BOOST_TEST((*trials.run(kOneSecond) == nullptr));
}

BOOST_AUTO_TEST_CASE(a_trial_cut_short_is_logged_but_not_used) {
    Scripted measurer({{.sent = 10, .partial = true}});
    Trials trials(measurer);
    BOOST_TEST((*trials.run(kOneSecond) == nullptr));
    BOOST_TEST(trials.log().size() == 1);
    BOOST_TEST((trials.ending() == Ending::kStopped));
}

BOOST_AUTO_TEST_CASE(a_trial_that_cut_itself_short_tells_why) {
    const TrialOutput cut{
        .sent = 10, .objection = "port c0: interface c0 is down", .partial = true};
    Scripted measurer({cut});
    Trials trials(measurer);
    BOOST_TEST((*trials.run(kOneSecond) == nullptr));
    BOOST_TEST((trials.ending() == Ending::kCutShort));
    BOOST_TEST(trials.why_cut_short() == "port c0: interface c0 is down");
    const std::atomic<bool> stop = true;
    Scripted again({cut});
    Trials stopped(again, {.stop = &stop});
    BOOST_TEST((*stopped.run(kOneSecond) == nullptr));
    BOOST_TEST((stopped.ending() == Ending::kStopped));
    BOOST_TEST(stopped.why_cut_short().empty());
}

BOOST_AUTO_TEST_CASE(overhead_is_given_as_least_median_and_greatest) {
    Scripted measurer(
        {{.overhead_seconds = 0.003}, {.overhead_seconds = 0.011}, {.overhead_seconds = 0.004}});
    Trials trials(measurer);
    for (int n = 0; n < 3; ++n) {
        BOOST_TEST((*trials.run(kOneSecond) != nullptr));
    }
    BOOST_TEST(trials.overhead().min_seconds == 0.003);
    BOOST_TEST(trials.overhead().median_seconds == 0.004);
    BOOST_TEST(trials.overhead().max_seconds == 0.011);
}
